# SPDX-License-Identifier: MIT
"""A GRU layer for training on a processor: what torch.nn.GRU computes, with the gradients of the
weights taken over all
frames at once. It is about half as much work as one product a frame."""
import torch


class Layer(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w_in, w_rec, b_in, b_rec):
        """x: [T, N, I]; weights as torch.nn.GRU has them, rows reset, update, new. -> [T, N, H]"""
        frames, batch, size = x.shape[0], x.shape[1], w_rec.shape[1]
        ahead = torch.addmm(b_in, x.reshape(-1, x.shape[2]), w_in.t()).view(frames, batch, 3 * size)
        w = w_rec.t().contiguous()
        gates = x.new_empty(frames, batch, 2 * size)
        new, rec, out = (x.new_empty(frames, batch, size) for _ in range(3))
        h = x.new_zeros(batch, size)
        for t in range(frames):
            g = torch.addmm(b_rec, h, w)
            torch.sigmoid(ahead[t, :, :2 * size] + g[:, :2 * size], out=gates[t])
            rec[t] = g[:, 2 * size:]
            torch.tanh(torch.addcmul(ahead[t, :, 2 * size:], gates[t, :, :size], rec[t]),
                       out=new[t])
            h = torch.lerp(new[t], h, gates[t, :, size:], out=out[t])
        ctx.save_for_backward(x, w_in, w_rec, gates, new, rec, out)
        return out

    @staticmethod
    def backward(ctx, d_out):
        x, w_in, w_rec, gates, new, rec, out = ctx.saved_tensors
        frames, batch, size = out.shape
        r, z = gates[..., :size], gates[..., size:]
        before = torch.cat([out.new_zeros(1, batch, size), out[:-1]])
        # From the gradient of the output to those before the gates.
        to_new = (1 - z) * (1 - new * new)
        to_update = (before - new) * z * (1 - z)
        to_reset = to_new * rec * r * (1 - r)
        to_rec = to_new * r
        factors = torch.stack([to_reset, to_update, to_rec], 2)
        d_rec = out.new_empty(frames, batch, 3, size)
        d = d_out[frames - 1]
        d_all = torch.empty_like(out)
        for t in range(frames - 1, -1, -1):
            d_all[t] = d
            torch.mul(factors[t], d.unsqueeze(1), out=d_rec[t])
            if t:
                d = torch.addmm(torch.addcmul(d_out[t - 1], d, z[t]),
                                d_rec[t].view(batch, 3 * size), w_rec)
        d_in = d_rec.clone()
        d_in[:, :, 2] = d_all * to_new
        d_rec, d_in = d_rec.view(-1, 3 * size), d_in.view(-1, 3 * size)
        d_x = (d_in @ w_in).view_as(x)
        return (d_x, d_in.t() @ x.reshape(-1, x.shape[2]), d_rec.t() @ before.view(-1, size),
                d_in.sum(0), d_rec.sum(0))


def run(gru, x):
    """The output of a torch.nn.GRU of one layer."""
    return Layer.apply(x, gru.weight_ih_l0, gru.weight_hh_l0, gru.bias_ih_l0, gru.bias_hh_l0)
