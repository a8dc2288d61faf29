/* SPDX-License-Identifier: MIT */
/* Attributes of ops that become others: what is not known, or of another kind, is refused by name;
 * the engine's own ops know theirs. */
#include "models/onnx/internal.h"

#include <stdio.h>
#include <string.h>

/* By the upgrade: attributes as "kind:name ..", by the letter of the kind; one that is not here
 * takes none. */
static const struct attr_row {
    rill_status (*upgrade)(struct conversion *l);
    const char *known;
} rows[] = {
    { up_attention,
      "i:is_causal i:kv_num_heads i:left_window_size i:q_num_heads i:qk_matmul_output_mode "
      "i:right_window_size f:scale f:softcap i:softmax_precision" },
    { up_causal_conv, "s:activation" },
    { up_center_crop_pad, "I:axes" },
    { up_col2im, "I:dilations I:pads I:strides" },
    { up_concat_from_sequence, "i:axis i:new_axis" },
    { up_constant,
      "t:sparse_value t:value f:value_float F:value_floats i:value_int I:value_ints s:value_string "
      "S:value_strings" },
    { up_cross_entropy, "i:ignore_index s:reduction" },
    { up_dropout, "i:is_test f:ratio i:seed" },
    { up_dynamic_lstm,
      "F:activation_alpha F:activation_beta S:activations f:clip s:direction i:hidden_size "
      "i:input_forget" },
    { up_embed_layer_norm, "f:epsilon i:mask_index_type" },
    { up_fused_conv,
      "s:activation F:activation_params s:auto_pad I:dilations i:group I:kernel_shape I:pads "
      "I:strides" },
    { up_fused_gemm,
      "s:activation f:activation_alpha f:activation_beta f:activation_gamma f:alpha f:beta "
      "i:transA i:transB" },
    { up_fused_matmul, "f:alpha i:transA i:transB i:transBatchA i:transBatchB" },
    { up_gather_blocks, "i:bits i:block_size i:gather_axis i:quantize_axis" },
    { up_grid_sample, "i:align_corners s:mode s:padding_mode" },
    { up_group_query_attention,
      "i:causal i:do_rotary f:k_norm_epsilon s:k_quant_type i:kv_cache_bit_width i:kv_num_heads "
      "i:local_window_size i:num_heads f:q_norm_epsilon f:qk_norm_epsilon i:qk_output "
      "i:rotary_interleaved f:scale i:sliding_window_cache i:smooth_softmax f:softcap "
      "s:v_quant_type" },
    { up_linear_attention, "i:chunk_size i:kv_num_heads i:q_num_heads f:scale s:update_rule" },
    { up_matmul_nbits, "i:K i:N i:accuracy_level i:bits i:block_size i:weight_prepacked" },
    { up_multi_head_attention, "f:mask_filter_value i:num_heads f:scale i:unidirectional" },
    { up_mvn, "I:axes" },
    { up_nchwc_conv,
      "s:activation F:activation_params s:auto_pad I:dilations i:group I:kernel_shape I:pads "
      "I:strides" },
    { up_nchwc_upsample, "s:coordinate_transformation_mode s:mode I:scales" },
    { up_nhwc_conv,
      "s:activation F:activation_params s:auto_pad I:dilations i:group I:kernel_shape I:pads "
      "I:strides" },
    { up_nhwc_max_pool, "s:auto_pad i:ceil_mode I:dilations I:kernel_shape I:pads I:strides" },
    { up_nll_loss, "i:ignore_index s:reduction" },
    { up_packed_attention,
      "i:do_rotary f:mask_filter_value i:num_heads i:past_present_share_buffer I:qkv_hidden_sizes "
      "i:rotary_embedding_dim f:scale i:unidirectional" },
    { up_qattention,
      "i:do_rotary f:mask_filter_value i:num_heads i:past_present_share_buffer f:scale "
      "i:unidirectional" },
    { up_qgemm, "f:alpha i:transA i:transB" },
    { up_qlinear_concat, "i:axis" },
    { up_qlinear_conv, "s:auto_pad I:dilations i:group I:kernel_shape I:pads I:strides" },
    { up_qlinear_global_pool, "i:channels_last" },
    { up_qlinear_leaky_relu, "f:alpha" },
    { up_qlinear_mean, "I:axes i:keepdims" },
    { up_qlinear_pool,
      "s:auto_pad i:ceil_mode i:channels_last i:count_include_pad I:kernel_shape I:pads "
      "I:strides" },
    { up_qlinear_softmax, "i:axis i:opset" },
    { up_quick_gelu, "f:alpha" },
    { up_reorder_input, "i:channels_last" },
    { up_reorder_output, "i:channels i:channels_last" },
    { up_rotary, "i:interleaved i:num_heads i:rotary_embedding_dim" },
    { up_scan_8, "i:num_scan_inputs I:directions" },
    { up_scan_9,
      "i:num_scan_inputs I:scan_input_axes I:scan_input_directions I:scan_output_axes "
      "I:scan_output_directions" },
    { up_scaled_silu, "f:alpha" },
    { up_skip_layer_norm, "f:epsilon" },
    { up_skip_rms_norm, "f:epsilon" },
    { up_sequence_empty, "i:dtype" },
    { up_split_to_sequence, "i:axis i:keepdims" },
    { up_swiglu, "f:alpha" },
    { up_tensor_scatter, "i:axis s:mode" },
    { up_vendor_causal_conv,
      "s:activation i:channels_last i:dilation i:input_channel_offset i:input_channels i:ndim "
      "i:state_channels_last i:state_length i:state_update_capacity i:state_window" },
    { up_vendor_linear_attention,
      "i:chunk_size i:kv_num_heads i:q_num_heads f:scale i:state_window s:update_rule" },
    { up_vendor_qlinear_conv,
      "s:auto_pad i:channels_last I:dilations i:group I:kernel_shape I:pads I:strides" },
    { up_vendor_rotary,
      "i:interleaved i:is_packed_batching i:num_heads i:rotary_embedding_dim f:scale" },
};

static const struct attr_word {
    char letter;
    enum attr_kind kind;
    const char *what;
} words[] = { { 'i', ATTR_INT, "an integer" }, { 'f', ATTR_FLOAT, "a float" },
              { 's', ATTR_STRINGS, "text" },   { 'S', ATTR_STRINGS, "texts" },
              { 'I', ATTR_INTS, "integers" },  { 'F', ATTR_FLOATS, "floats" },
              { 't', ATTR_TENSOR, "a tensor" } };

/* Letter of the kind of a name in a list; 0: it is not there. */
static char letter_of(const char *known, const char *name)
{
    size_t n = strlen(name);
    for (const char *p = known; *p; p += strcspn(p, " "), p += *p == ' ')
        if (!strncmp(p + 2, name, n) && (p[2 + n] == ' ' || !p[2 + n]))
            return *p;
    return 0;
}

static rill_status kind_check(const struct conversion *l, const struct attr *a, char letter)
{
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (words[i].letter == letter &&
            (a->kind != words[i].kind || (letter == 's' && !attr_is_one_string(a))))
            return convert_fail(l, RILL_MALFORMED, "attribute '%.60s' is not %s", a->name,
                                words[i].what);
    return RILL_OK;
}

static rill_status attr_refuse(const struct conversion *l, const struct attr *a, const char *known)
{
    char list[300] = "none";
    size_t n = 0;
    for (const char *p = known; *p && n + 60 < sizeof list;) {
        size_t word = strcspn(p, " ");
        n += (size_t) snprintf(&list[n], sizeof list - n, "%s%.*s", n ? ", " : "", (int) word - 2,
                               p + 2);
        p += word + (p[word] == ' ');
    }
    return convert_fail(l, RILL_UNSUPPORTED, "attribute '%.60s' is not known; known: %s", a->name,
                        list);
}

rill_status convert_attrs_check(const struct conversion *l)
{
    const char *known = "";
    if (l->row->engine)
        return RILL_OK;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].upgrade == l->row->upgrade)
            known = rows[i].known;
    for (unsigned i = 0; i < l->n_attr; i++) {
        const char letter = letter_of(known, l->attr[i].name);
        TRY(letter ? kind_check(l, &l->attr[i], letter) : attr_refuse(l, &l->attr[i], known));
    }
    return RILL_OK;
}
