"""The layers of BERT (Devlin et al., 2019) for ONNX Runtime.

Their matrices come in blocks of 32 weights with a scale of their own (llama.cpp's Q4_0).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
import onnx
import onnxruntime
from numpy.typing import NDArray
from onnx import TensorProto, helper

BLOCK: Final = 32
"""Weights that share a scale."""
_BLOCK_BYTES: Final = 2 + BLOCK // 2
_MICROSOFT: Final = "com.microsoft"
_OPSET: Final = 18
_IR_VERSION: Final = 9
_AS_FLOATS: Final = 1
"""The accuracy level at which weights are multiplied as 32-bit floats …"""
_AS_BYTES: Final = 4
"""… and as integers of eight bits, which is twice as fast for weights of eight bits."""
_LARGEST_BYTE: Final = 127

Bytes: TypeAlias = NDArray[np.uint8]
Floats: TypeAlias = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Sizes:
    """Numbers of a token's state, of heads, of the inner state and of layers."""

    hidden: int
    heads: int
    wide: int
    layers: int
    epsilon: float


class Graph:
    """Builds the layers: embeddings of tokens to their states.

    ``changes`` are added to the matrices of the same name, and take the place of other weights.
    """

    def __init__(
        self,
        weights: Mapping[str, Bytes],
        sizes: Sizes,
        changes: Mapping[str, NDArray[Any]] | None = None,
    ) -> None:
        self._weights, self._sizes, self._changes = weights, sizes, changes or {}
        self._model = onnx.ModelProto(ir_version=_IR_VERSION)
        self._graph = self._model.graph

    def model(self) -> bytes:
        state = self._normal("tokens", "emb.ln")
        for number in range(self._sizes.layers):
            state = self._layer(state, f"l{number}")
        shape = (1, "count", self._sizes.hidden)
        given = (("tokens", shape), ("apart", (1, 1, "count", "count")))
        for values, named in ((self._graph.input, given), (self._graph.output, [(state, shape)])):
            values.extend(
                helper.make_tensor_value_info(name, TensorProto.FLOAT, size) for name, size in named
            )
        self._graph.name = "e5"
        for domain, version in (("", _OPSET), (_MICROSOFT, 1)):
            self._model.opset_import.append(helper.make_opsetid(domain, version))
        return bytes(self._model.SerializeToString())

    def _layer(self, state: str, name: str) -> str:
        size, wide = self._sizes.hidden, self._sizes.wide
        parts = [self._linear(state, f"{name}.{part}", size, size) for part in "qkv"]
        seen = self._node(
            "MultiHeadAttention",
            *parts,
            "",
            "",
            "apart",
            domain=_MICROSOFT,
            num_heads=self._sizes.heads,
        )
        seen = self._linear(seen, f"{name}.ao", size, size)
        state = self._normal(self._node("Add", state, seen), f"{name}.aln")
        inner = self._linear(state, f"{name}.fi", size, wide)
        inner = self._node("Gelu", inner, domain=_MICROSOFT)
        inner = self._linear(inner, f"{name}.fo", wide, size)
        return self._normal(self._node("Add", state, inner), f"{name}.oln")

    def _linear(self, given: str, name: str, size: int, made: int) -> str:
        whole, scales, bits = self._matrix(f"{name}.w", made)
        product = self._node(
            "MatMulNBits",
            given,
            self._constant(f"{name}.w", whole),
            self._constant(f"{name}.scales", scales),
            domain=_MICROSOFT,
            K=size,
            N=made,
            bits=bits,
            block_size=BLOCK,
            accuracy_level=_AS_BYTES if bits == 8 else _AS_FLOATS,
        )
        return self._node("Add", product, self._constant(f"{name}.b", self._plain(f"{name}.b")))

    def _matrix(self, name: str, made: int) -> tuple[Bytes, Floats, int]:
        """A matrix in blocks, with their scales and the bits of a weight."""
        blocks = self._weights[name].reshape(made, -1, _BLOCK_BYTES)
        if name in self._changes:
            change = dequantized(self._changes[name].reshape(made, -1))
            return *_as_bytes(dequantized(blocks) + change), 8
        halves = _unpacked(blocks)
        packed = np.asarray(halves[..., 0::2] | halves[..., 1::2] << 4, np.uint8)
        return packed, _scales(blocks)[..., 0], 4

    def _plain(self, name: str) -> Floats:
        return floats(self._changes.get(name, self._weights[name]))

    def _normal(self, given: str, name: str) -> str:
        factor, shift = (
            self._constant(f"{name}.{part}", self._plain(f"{name}.{part}")) for part in "wb"
        )
        return self._node("LayerNormalization", given, factor, shift, epsilon=self._sizes.epsilon)

    def _node(self, kind: str, *given: str, domain: str = "", **attributes: Any) -> str:
        made = f"{kind} {len(self._graph.node)}"
        self._graph.node.append(helper.make_node(kind, given, [made], domain=domain, **attributes))
        return made

    def _constant(self, name: str, values: NDArray[Any]) -> str:
        # Written where it stays: the helpers copy a model of 13 MB four times.
        self._graph.initializer.add(
            name=name,
            dims=values.shape,
            data_type=helper.np_dtype_to_tensor_dtype(values.dtype),
            raw_data=values.tobytes(),
        )
        return name


def session(model: bytes, threads: int) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    # Batches have many sizes, and a plan of memory would be kept for each.
    options.enable_mem_pattern = False
    # A core that waits for the next text is another process's.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def floats(tensor: NDArray[Any]) -> Floats:
    return np.frombuffer(tensor.tobytes(), "<f4")


def _scales(blocks: Bytes) -> Floats:
    """The scale of each block, as an array of one element on the last axis."""
    return np.ascontiguousarray(blocks[..., :2]).view("<f2").astype(np.float32)


def _unpacked(blocks: Bytes) -> Bytes:
    """The weights of each block, 0 to 15: the lower halves of its bytes come first."""
    halves = blocks[..., 2:]
    return np.concatenate([halves & 15, halves >> 4], axis=-1)


def dequantized(rows: Bytes) -> Floats:
    """Rows of blocks as floats."""
    blocks = rows.reshape(len(rows), -1, _BLOCK_BYTES)
    return ((_unpacked(blocks).astype(np.float32) - 8) * _scales(blocks)).reshape(len(rows), -1)


def _as_bytes(matrix: Floats) -> tuple[Bytes, Floats]:
    """A matrix in blocks of bytes, 128 for zero, with their scales."""
    blocks = matrix.reshape(len(matrix), -1, BLOCK)
    scales = np.abs(blocks).max(2) / _LARGEST_BYTE + np.finfo(np.float32).tiny
    whole = np.rint(blocks / scales[..., None]) + _LARGEST_BYTE + 1
    return whole.astype(np.uint8), scales.astype(np.float32)
