#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Exports streaming zipformer2 recognisers of random weights with icefall's own code (the PyPI package zipformer): a transducer and a
CTC model, as folders of the published form.

    zipformer2.py FOLDER [--large]

Makes FOLDER/zipformer2 and FOLDER/zipformer2-ctc, each in f32 and int8. --large takes the published sizes (for timing). Needs
torch, onnx, onnxruntime, zipformer."""
import sys
from pathlib import Path
from unittest import mock

# What the package imports for training and post-processing is not needed to export.
for name in "atdataset kaldialign ssentencepiece onnxconverter_common tensorboard torch.utils.tensorboard torchaudio soundfile sentencepiece k2 kaldifeat kaldi_native_fbank kaldifst".split():
    sys.modules.setdefault(name, mock.MagicMock())
sys.modules["kaldialign"].__version__ = "0.9"

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic

from zipformer.bin import export
from zipformer.modules.model import Decoder, Joiner, OnnxDecoderWrapper, OnnxJoinerWrapper, OnnxStreamingCtcWrapper, OnnxStreamingEncoderWrapper
from zipformer.modules.subsampling import Conv2dSubsampling
from zipformer.modules.zipformer import Zipformer

SMALL = dict(downsampling_factor=(1, 2, 4), encoder_dim=(32, 48, 32), num_encoder_layers=(1, 1, 1), encoder_unmasked_dim=(32, 32, 32),
             query_head_dim=8, pos_head_dim=4, value_head_dim=4, num_heads=(4, 4, 4), feedforward_dim=(48, 64, 48),
             cnn_module_kernel=(15, 15, 15), pos_dim=16, chunk_size=(16,), left_context_frames=(64,))
LARGE = dict(downsampling_factor=(1, 2, 4, 8, 4, 2), encoder_dim=(192, 256, 384, 512, 384, 256), num_encoder_layers=(2, 2, 3, 4, 3, 2),
             encoder_unmasked_dim=(192, 192, 256, 256, 256, 192), query_head_dim=32, pos_head_dim=4, value_head_dim=12,
             num_heads=(4, 4, 4, 8, 4, 4), feedforward_dim=(512, 768, 1024, 1536, 1024, 768), cnn_module_kernel=(31, 31, 15, 15, 15, 31),
             pos_dim=48, chunk_size=(16,), left_context_frames=(128,))
PIECES = ["<blk>", "<sos/eos>", "<unk>"] + ["\u2581" + w for w in "THE A ON LA TE RI MO SU IT HE".split()] + "S ED ING LO RA NI T E O'".split()


def as_torchscript(*args, **kw):
    """torch.onnx.export as the package calls it: with the exporter that traces."""
    return EXPORT(*args, dynamo=False, **kw)


EXPORT = torch.onnx.export
torch.onnx.export = as_torchscript


def layers_part(net):
    """The layers of a stack begin as copies of one, which the exporter stores once; trained ones differ."""
    with torch.no_grad():
        for w in net.parameters():
            w += torch.randn_like(w) * (0.02 if w.dim() > 1 else 0.001)


def random_net(sizes, n_tokens, joiner_dim):
    enc = Zipformer(causal=True, **sizes)
    if sizes is LARGE:
        layers_part(enc)
    embed = Conv2dSubsampling(in_channels=80, out_channels=sizes["encoder_dim"][0])
    decoder = Decoder(vocab_size=n_tokens, decoder_dim=joiner_dim, blank_id=0, context_size=2)
    joiner = Joiner(max(sizes["encoder_dim"]), joiner_dim, joiner_dim, n_tokens)
    ctc = torch.nn.Sequential(torch.nn.Dropout(0.1), torch.nn.Linear(max(sizes["encoder_dim"]), n_tokens), torch.nn.LogSoftmax(dim=-1))
    with torch.no_grad():
        joiner.encoder_proj.weight *= 6
        joiner.decoder_proj.weight *= 6
        joiner.output_linear.weight *= 4
        ctc[1].weight *= 6
    return [m.eval() for m in (enc, embed, decoder, joiner, ctc)]


def round_weights(path, bits=3):
    """Large weights of few bits, so that the folders of tests are small in an archive."""
    m = onnx.load(path)
    for n in m.graph.node:
        n.ClearField("doc_string")
    for t in m.graph.initializer:
        if t.data_type == onnx.TensorProto.FLOAT and np.prod(t.dims) > 512:
            w = numpy_helper.to_array(t)
            mant, exp = np.frexp(w)
            t.CopyFrom(numpy_helper.from_array(np.ldexp(np.round(mant * 2**bits) / 2**bits, exp).astype(np.float32), t.name))
    onnx.save(m, path)


def tokens_write(path, n):
    names = PIECES + [f"T{i}" for i in range(len(PIECES), n)]
    path.write_text("".join(f"{t} {i}\n" for i, t in enumerate(names[:n])), encoding="utf-8")


def quieter(path, to, more):
    """A joiner that says less: the blank's bias is greater."""
    m = onnx.load(path)
    for t in m.graph.initializer:
        if len(t.dims) == 1:
            bias = numpy_helper.to_array(t).copy()
            bias[0] += more
            t.CopyFrom(numpy_helper.from_array(bias, t.name))
    onnx.save(m, to)


def pieces_write(path):
    """Scores of pieces, as sentencepiece's .vocab files have them."""
    path.write_text("".join(f"{t}\t{-0.5 * (i + 1):.3f}\n" for i, t in enumerate(PIECES)), encoding="utf-8")


def main():
    out = Path(sys.argv[1])
    large = "--large" in sys.argv
    sizes, n_tokens, joiner_dim = (LARGE, 500, 512) if large else (SMALL, len(PIECES), 32)
    torch.manual_seed(20231)
    enc, embed, decoder, joiner, ctc = random_net(sizes, n_tokens, joiner_dim)
    one, two = out / "zipformer2", out / "zipformer2-ctc"
    for folder in (one, two):
        folder.mkdir(parents=True, exist_ok=True)
        tokens_write(folder / "tokens.txt", n_tokens)
    suffix = "epoch-99-avg-1-chunk-16-left-%d" % sizes["left_context_frames"][0]
    chunk = dict(feature_dim=80, dynamic_batch=True, use_external_data=False, opset_version=13)
    wrapped = OnnxStreamingEncoderWrapper(enc, embed, joiner.encoder_proj).eval()
    export.export_streaming_encoder_onnx(wrapped, str(one / f"encoder-{suffix}.onnx"), output_name="encoder_out",
                                         meta_data=export.get_streaming_meta_data(wrapped, "streaming zipformer2"), **chunk)
    export._export_decoder_model_onnx(OnnxDecoderWrapper(decoder, joiner.decoder_proj).eval(), str(one / f"decoder-{suffix}.onnx"))
    export._export_joiner_model_onnx(OnnxJoinerWrapper(joiner.output_linear).eval(), str(one / f"joiner-{suffix}.onnx"))
    wrapped = OnnxStreamingCtcWrapper(enc, embed, ctc).eval()
    export.export_streaming_encoder_onnx(wrapped, str(two / f"ctc-{suffix}.onnx"), output_name="log_probs",
                                         meta_data=export.get_streaming_meta_data(wrapped, "streaming ctc zipformer2"), **chunk)
    if not large:
        pieces_write(one / "bpe.vocab")
    for folder in (one, two):
        for f in [f for f in sorted(folder.glob("*.onnx")) if ".int8." not in f.name]:
            if not large:
                round_weights(f)
            if not f.name.startswith("decoder"):
                quantize_dynamic(f, f.with_suffix(".int8.onnx"), op_types_to_quantize=["MatMul"], weight_type=QuantType.QInt8)
    quieter(one / f"joiner-{suffix}.onnx", one / "joiner-quiet.onnx", 3.0)


main()
