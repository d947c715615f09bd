"""What names a model's weights on each server: the same name from its list as from its facts."""

import hashlib
import json

from kith.models.providers.answers import Row, part, whole


def llama_digest(props: Row, row: Row) -> str:
    """Of a llama-server: from /props the file's name, from the model's row in /v1/models its sizes."""
    path, meta = str(props.get("model_path") or row.get("id") or ""), part(row, "meta")
    return _digest(
        path.replace("\\", "/").rpartition("/")[2], whole(meta.get("size")), whole(meta.get("n_params"))
    )


def lmstudio_digest(row: Row) -> str:
    """Of LM Studio: from the model's row in its list, in the present API or in the one before."""
    quantisation = part(row, "quantization").get("name") or row.get("quantization")
    return _digest(row.get("key") or row.get("id"), quantisation, whole(row.get("size_bytes")))


def vllm_digest(row: Row) -> str:
    """Of vLLM: from the model's row in /v1/models."""
    return _digest(row.get("root") or row.get("id"))


def _digest(*traits: object) -> str:
    """SHA-256 in hex of what tells one model from another."""
    return hashlib.sha256(json.dumps(traits, ensure_ascii=False).encode("utf-8", "replace")).hexdigest()
