"""Writes files of h5py: element types and layouts, the layout of Keras 1, and files that no reader
should follow. Run in a folder, with h5py 3.16.0, NumPy and ml_dtypes.
"""
import h5py
import ml_dtypes
import numpy as np

arrays = {}


def add(group, name, value, **options):
    arrays[(group.name + "/" + name).lstrip("/")] = value
    group.create_dataset(name, data=value, **options)


with h5py.File("types.h5", "w") as file:
    for name in ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"]:
        add(file.require_group("little"), name, np.array([[1, 2, 3], [4, 5, 6]], "<" + name))
        add(file.require_group("big"), name, np.array([1, 2, 100], ">" + name))
    add(file, "bool", np.array([True, False, True]))
    file.create_dataset("bfloat16", data=np.array([1.5, -2, 3], ml_dtypes.bfloat16))
    add(file, "scalar", np.float32(7))
    add(file, "empty", np.zeros((0, 3), "f4"))
    add(file, "compact", np.arange(4, dtype="f4"))
    add(file, "names with spaces/ümlaut", np.array([3], "i4"))
np.savez_compressed("types.npz", **arrays)

arrays.clear()
with h5py.File("chunked.h5", "w") as file:
    values = np.arange(600, dtype="f4").reshape(20, 30)
    add(file, "deflated", values, chunks=(8, 8), compression="gzip")
    add(file, "shuffled", values.astype(">i4"), chunks=(8, 8), compression="gzip", shuffle=True)
    add(file, "plain", values[:3], chunks=(2, 16))
    add(file, "zeros", np.zeros((100, 100), "f4"), chunks=(100, 100), compression="gzip")
np.savez_compressed("chunked.npz", **arrays)

arrays.clear()
with h5py.File("latest.h5", "w", libver="latest", userblock_size=1024, track_order=True) as file:
    add(file.create_group("z"), "second", np.array([1.0, 2.0]))
    add(file.create_group("a"), "first", np.array([3, 4], "i8"), chunks=(2,))
np.savez_compressed("latest.npz", **arrays)

with h5py.File("others.h5", "w") as file:
    file["good"] = np.float32(1)
    file["complex"] = np.array([1 + 2j])
    file["enumeration"] = np.array([0, 1], h5py.enum_dtype({"RED": 0, "BLUE": 1}, basetype="i1"))
    file["fixed text"] = np.array([b"ab", b"c"])
    file["variable text"] = "text"
    file["opaque"] = np.array([b"abcd"], "V4")
    file["nothing"] = h5py.Empty("f4")

with h5py.File("keras1.h5", "w") as file:
    file.attrs["layer_names"] = np.array([b"dense_2", b"flatten_1", b"dense_1"])
    for number, layer in enumerate(["dense_2", "dense_1"]):
        group = file.create_group(layer)
        group.attrs["weight_names"] = np.array([layer.encode() + b"_W", layer.encode() + b"_b"])
        group[layer + "_W"] = np.full((2, 3), number, "f4")
        group[layer + "_b"] = np.full((3,), number + 0.5, "f4")
    file.create_group("flatten_1").attrs["weight_names"] = np.array([])

with h5py.File("split.h5", "w") as file:
    layers = ["layer_%d" % i for i in range(5)]
    file.attrs["layer_names0"] = np.array([name.encode() for name in layers[:3]])
    file.attrs["layer_names1"] = np.array([name.encode() for name in layers[3:]])
    for number, layer in enumerate(layers):
        group = file.create_group(layer)
        group.attrs.create("weight_names", [layer + "/kernel:0"], dtype=h5py.string_dtype())
        group[layer + "/kernel:0"] = np.full((1,), number, "f4")

with h5py.File("split_latest.h5", "w", libver="latest") as file:
    file.attrs.create("layer_names", ["a", "b"], dtype=h5py.string_dtype())
    for number, layer in enumerate(["a", "b"]):
        group = file.create_group(layer, track_order=True)
        group.attrs.create("weight_names", [layer + "/kernel:0"], dtype=h5py.string_dtype())
        group[layer + "/kernel:0"] = np.full((1,), number, "f4")

with h5py.File("slashes.h5", "w") as file:
    weights = {layer: [layer + "/kernel:0"] for layer in ["block/conv", "block/conv_1"]}
    weights["stack"] = ["stack/cells/lstm_cell%s/bias:0" % number for number in ["", "_1"]]
    file.attrs["layer_names"] = np.array([layer.encode() for layer in weights])
    for layer, names in weights.items():
        group = file.create_group(layer)
        group.attrs["weight_names"] = np.array([name.encode() for name in names])
        for name in names:
            group[name] = np.array([len(name)], "f4")

with h5py.File("nameless.weights.h5", "w") as file:
    file["layers/dense/vars/0"] = np.zeros((1,), "f4")
    for state in ["optimizer", "metrics/mean", "layers/dropout/seed_generator"]:
        file[state + "/vars/0"] = np.int32(1)


def hostile(name):
    file = h5py.File(name + ".h5", "w")
    file["good"] = np.float32(1)
    return file


with hostile("soft_link") as file:
    file["link"] = h5py.SoftLink("/good")
with hostile("external_link") as file:
    file.create_group("inner")["link"] = h5py.ExternalLink("types.h5", "/scalar")
with hostile("circle") as file:
    file.create_group("inner")["again"] = file["/"]
with hostile("two_paths") as file:
    file["again"] = file["good"]
with hostile("deep") as file:
    file.create_group("/".join("g" * 17))
with hostile("external_storage") as file:
    file.create_dataset("raw", (4,), "f4", external=[("/etc/passwd", 0, 16)])
with hostile("virtual") as file:
    layout = h5py.VirtualLayout((2,), "f4")
    layout[:] = h5py.VirtualSource("types.h5", "compact", (4,))[:2]
    file.create_virtual_dataset("view", layout)
with hostile("filter") as file:
    file.create_dataset("lzf", data=np.zeros(8), compression="lzf")
with hostile("bomb") as file:
    file.create_dataset("zeros", (1 << 40,), "f4", chunks=(64,), compression="gzip")[:64] = 1
with hostile("large_chunk") as file:
    file.create_dataset("zeros", (4,), "f4", chunks=(1 << 29,), maxshape=(None,))
    file["zeros"].id.write_direct_chunk((0,), b"x" * 100)
with hostile("huge") as file:
    file.create_dataset("zeros", (1 << 62,), "f4", chunks=(64,))
with hostile("unwritten") as file:
    file.create_dataset("never", (4,), "f4")
with hostile("checksum") as file:
    file.create_dataset("sums", data=np.zeros(8), fletcher32=True)
