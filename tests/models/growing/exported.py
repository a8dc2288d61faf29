#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes merged.onnx and gpt2.onnx as optimum exports them, but for the names within, which are short, and what ONNX Runtime gives for
them. Wants torch, transformers (4.55), optimum with optimum-onnx, onnx and onnxruntime.

merged: a Whisper decoder of two layers, both bodies in one If on use_cache_branch; the caches of what the encoder heard come from the
first step alone. gpt2: a decoder with position_ids, a mask of its own size and sequence_length open."""
import os
import tempfile

import numpy as np
import onnx
import onnxruntime
import torch
from optimum.exporters.onnx import onnx_export_from_model
from transformers import GPT2Config, GPT2LMHeadModel, WhisperConfig, WhisperForConditionalGeneration

HERE = os.path.dirname(os.path.abspath(__file__))
VOCABULARY, WIDTH, HEADS, STEPS, HEARD = 24, 16, 2, 20, 12


def louder(model):
    """Weights as they are drawn give logits of nearly 0."""
    with torch.no_grad():
        for p in model.parameters():
            p.mul_(8 if p.dim() > 1 else 1)
    return model.eval()


def whisper():
    return louder(WhisperForConditionalGeneration(WhisperConfig(
        vocab_size=VOCABULARY, d_model=WIDTH, encoder_layers=1, decoder_layers=2, encoder_attention_heads=HEADS,
        decoder_attention_heads=HEADS, encoder_ffn_dim=32, decoder_ffn_dim=32, num_mel_bins=8, max_target_positions=64,
        decoder_start_token_id=1, pad_token_id=0, bos_token_id=1, eos_token_id=2, suppress_tokens=None, begin_suppress_tokens=None)))


def gpt2():
    return louder(GPT2LMHeadModel(GPT2Config(vocab_size=VOCABULARY, n_positions=64, n_embd=WIDTH, n_layer=2, n_head=HEADS)))


def shorten(graph, kept, names):
    """Wires within are called by numbers; an outer name is found again in bodies."""
    short = lambda name: name if not name or name in kept else names.setdefault(name, f"w{len(names)}")
    del graph.value_info[:]
    for t in graph.initializer:
        t.name = short(t.name)
    for i, n in enumerate(graph.node):
        n.name = n.name if n.op_type == "If" else f"n{i}_{n.op_type}"
        n.input[:], n.output[:] = [short(x) for x in n.input], [short(x) for x in n.output]
        for a in n.attribute:
            if a.type == onnx.AttributeProto.GRAPH:
                shorten(a.g, kept, names)


def export(model, task, file, name):
    with tempfile.TemporaryDirectory() as d:
        onnx_export_from_model(model, output=d, task=task, do_validation=False)
        made = onnx.load(os.path.join(d, file))
    shorten(made.graph, {v.name for v in (*made.graph.input, *made.graph.output)}, {})
    path = os.path.join(HERE, name + ".onnx")
    onnx.save(made, path)
    return path


def run(path, tokens, more):
    session = onnxruntime.InferenceSession(path)
    names = [o.name for o in session.get_outputs()]
    past = {i.name: np.zeros((1, HEADS, 0, WIDTH // HEADS), np.float32) for i in session.get_inputs() if i.name.startswith("past")}
    logits = []
    for step, token in enumerate(tokens):
        got = dict(zip(names, session.run(None, {"input_ids": token, **more(step), **past})))
        # what a body gives of the encoder's caches after the first step is empty: the caller keeps them
        past = {n: v if step and ".encoder." in n else got[n.replace("past_key_values", "present")] for n, v in past.items()}
        logits.append(got["logits"])
    np.stack(logits).astype("<f4").tofile(path.replace(".onnx", ".f32"))


def main():
    torch.manual_seed(3)
    tokens = np.fromfile(os.path.join(HERE, "tokens.i64"), "<i8").reshape(STEPS, 1, 1)
    heard = np.random.default_rng(2).standard_normal((1, HEARD, WIDTH)).astype("<f4")
    heard.tofile(os.path.join(HERE, "merged.heard.f32"))
    path = export(whisper(), "automatic-speech-recognition-with-past", "decoder_model_merged.onnx", "merged")
    run(path, tokens, lambda step: {"encoder_hidden_states": heard, "use_cache_branch": np.array([step > 0])})
    path = export(gpt2(), "text-generation-with-past", "model.onnx", "gpt2")
    run(path, tokens, lambda step: {"attention_mask": np.ones((1, step + 1), np.int64), "position_ids": np.array([[step]])})


main()
