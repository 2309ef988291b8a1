# Writes the files of this folder with NumPy 2.4 and ml_dtypes 0.6: python3 make_files.py
import io
import zipfile

import ml_dtypes
import numpy as np

TYPES = ("bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64").split()
SIX = np.arange(6).reshape(2, 3)


def arrays():
    """2 x 3 arrays of 0 to 5, of bool 0 1 0 1 0 1, by the names of their dtypes."""
    made = {name: (SIX % 2 if name == "bool" else SIX).astype(name) for name in TYPES}
    made["bfloat16"] = SIX.astype(ml_dtypes.bfloat16)
    return made


def save(name, array, version):
    with open(name, "wb") as file:
        np.lib.format.write_array(file, array, version=version)


def npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


np.savez("stored.npz", **arrays())
np.savez_compressed("deflated.npz", **arrays())
big = {name: array.astype(array.dtype.newbyteorder(">")) for name, array in arrays().items()
       if name != "bfloat16"}
np.savez("big_endian.npz", **big)
np.savez("fortran.npz", **{name: np.asfortranarray(array) for name, array in arrays().items()},
         cube=np.asfortranarray(np.arange(24, dtype=">i2").reshape(2, 3, 4)),
         vector=np.asfortranarray(np.arange(6.0)))
np.savez("shapes.npz", scalar=np.float32(2.5), empty=np.zeros((0, 3)), row=np.ones((1, 1, 5)))
save("version2.npy", SIX.astype("float32"), (2, 0))
save("version3.npy", SIX.astype("float32"), (3, 0))
np.save("objects.npy", np.array([{}, None]), allow_pickle=True)
np.save("complex.npy", np.array([1j], dtype="complex64"))
np.save("texts.npy", np.array(["a", "bc"]))
np.save("structure.npy", np.array([(1, 2.0)], dtype=[("a", "<i4"), ("b]'", "<f4")]))
np.save("raw.npy", np.array([b"ab"], dtype="V2"))
np.savez("empty.npz")
with zipfile.ZipFile("folder.npz", "w") as archive:  # as zip -r writes it
    archive.writestr(zipfile.ZipInfo("folder/"), b"")
    archive.writestr(zipfile.ZipInfo("folder/x.npy"), npy(np.float32(2.5)))
zipfile.ZIP64_LIMIT = 0  # sizes and offsets are in the fields of ZIP64, as those from 4 GiB on
np.savez("zip64.npz", **arrays())
np.savez_compressed("zip64_deflated.npz", **arrays())
