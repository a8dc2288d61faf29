# SPDX-License-Identifier: MIT
"""What denoisers are judged by, of recordings whose clean speech is known. PESQ and STOI come from the
Python packages pesq and pystoi, the network of DNSMOS from speechmos (run by onnxruntime); where they
are absent `pesq`, `stoi` and `dnsmos` give None."""
import importlib.util

import numpy as np
try:
    import pesq as pesq_package
except ImportError:
    pesq_package = None
try:
    import pystoi
except ImportError:
    pystoi = None
try:
    import onnxruntime
except ImportError:
    onnxruntime = None

REMOVED_DB = -12                # a part of the speech that is weaker than so counts as removed
ACTIVE_DB = -40                 # frames below the loudest one by more are pauses
SIZE, HOP, BANDS = 512, 256, 20
PESQ_RATE = 16000


def cut(clean, y):
    n = min(len(clean), len(y))
    return clean[:n], y[:n]


def si_sdr(clean, y):
    clean, y = cut(clean, y)
    a = (clean @ y) / (clean @ clean + 1e-20)
    error = y - a * clean
    return 10 * np.log10(a * a * (clean @ clean) / (error @ error + 1e-20) + 1e-20)


def pesq(clean, y):
    """Wide band (P.862.2), of recordings at 16 kHz."""
    return pesq_package and pesq_package.pesq(PESQ_RATE, *cut(clean, y), 'wb')


def stoi(clean, y, rate):
    return pystoi and pystoi.stoi(*cut(clean, y), rate)


class DNSMOS:
    """DNSMOS P.835 (Reddy and others, 2022): what a network says listeners would give speech, noise and
    all of it, 1 to 5. The network hears 9.01 s at 16 kHz; a recording is repeated until it is as long,
    and a longer one is heard from each second on. Its outputs go through polynomials of its authors."""
    RATE, HEARD = 16000, 144160
    FITS = ((-0.08397278, 1.22083953, 0.0052439), (-0.13166888, 1.60915514, -0.39604546),
            (-0.06766283, 1.11546468, 0.04602535))

    def __init__(self, path):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self.net = onnxruntime.InferenceSession(path, options)

    def run(self, y):
        """Speech, noise, overall."""
        y = np.clip(np.tile(y, -(-self.HEARD // len(y))), -1, 1).astype(np.float32)
        starts = range(0, len(y) - self.HEARD + 1, self.RATE)
        raw = [self.net.run(None, {'input_1': y[None, at:at + self.HEARD]})[0][0] for at in starts]
        fitted = [[np.polyval(fit, v) for fit, v in zip(self.FITS, row)] for row in raw]
        return np.mean(fitted, axis=0)


def dnsmos_open():
    package = importlib.util.find_spec('speechmos')
    if not (onnxruntime and package):
        return None
    return DNSMOS(package.submodule_search_locations[0] + '/dnsmos_models/sig_bak_ovr.onnx')


DNSMOS_NET = dnsmos_open()


def dnsmos(y, part):
    """part: 0 speech, 1 noise, 2 overall. At 16 kHz."""
    return DNSMOS_NET and DNSMOS_NET.run(y)[part]


def spectra(x):
    frames = np.lib.stride_tricks.sliding_window_view(x, SIZE)[::HOP]
    return np.fft.rfft(frames * np.hanning(SIZE + 1)[:SIZE])


def band_edges(bins):
    """First bins of BANDS bands that are equally wide in mel, and the end."""
    mel = np.linspace(0, np.log10(1 + 8000 / 700), BANDS + 1)
    at = np.round(700 * (10 ** mel - 1) / 8000 * (bins - 1)).astype(int)
    return np.maximum.accumulate(np.maximum(at, np.arange(BANDS + 1)))


def removed(clean, y):
    """Share of the energy of the speech, in bands of 32 ms, that is left with less than REMOVED_DB of
    itself. What is left is the part of y that lies along the clean spectrum. At 16 kHz."""
    s, z = (spectra(v) for v in cut(np.asarray(clean, float), np.asarray(y, float)))
    edges = band_edges(s.shape[1])
    band = lambda v: np.add.reduceat(v[:, :edges[-1]], edges[:-1], axis=1)
    energy = band(np.abs(s) ** 2)
    kept = band((s.conj() * z).real) / (energy + 1e-20)
    frame = energy.sum(1, keepdims=True)
    energy = energy * (frame > frame.max() * 10 ** (ACTIVE_DB / 10))
    return (energy * (kept < 10 ** (REMOVED_DB / 20))).sum() / energy.sum()


def above(x, rate, hz):
    """Through a Butterworth high pass of order 4, forwards and backwards."""
    f = np.maximum(np.fft.rfftfreq(len(x), 1 / rate), 1e-9)
    return np.fft.irfft(np.fft.rfft(x) / (1 + (hz / f) ** 8), len(x))


def band(x, rate, low, high):
    """What lies between two frequencies."""
    spec = np.fft.rfft(x)
    f = np.fft.rfftfreq(len(x), 1 / rate)
    return np.fft.irfft(spec * ((f >= low) & (f < high)), len(x))
