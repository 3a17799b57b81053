"""For authors of clients: a failed turn, however it was told, as one value.

```python
try:
    client.raise_for_error(answer)          # a result, a response, or the exception it came as
except errors.AuthRequired:
    ...
shown = client.describe(error)          # what to say, which button, how long to wait
```

Reads only; opens nothing and sends nothing. `lastword.client.acp` does the whole of it for the
official SDK's client. `lastword.client.reconnect`, for viewers of a gateway, needs none of it.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lastword.client.display import ErrorView, describe, view
    from lastword.client.raise_for import raise_for_error
    from lastword.client.reading import read_error
    from lastword.client.retries import RetryNotice, read_retry
else:
    _HOMES = {
        "ErrorView": "lastword.client.display",
        "RetryNotice": "lastword.client.retries",
        "describe": "lastword.client.display",
        "raise_for_error": "lastword.client.raise_for",
        "read_error": "lastword.client.reading",
        "read_retry": "lastword.client.retries",
        "view": "lastword.client.display",
    }

    def __getattr__(name: str) -> object:
        """Load a name when it is first asked for.

        Whoever wants `lastword.client.reconnect` alone loads no classifier and no msgspec for it.
        """
        if name not in _HOMES:
            raise AttributeError(f"module 'lastword.client' has no attribute {name!r}")
        from importlib import import_module  # noqa: PLC0415  (docs/late-imports.md has the figure)

        value: object = getattr(import_module(_HOMES[name]), name)
        globals()[name] = value
        return value


__all__ = [
    "ErrorView",
    "RetryNotice",
    "describe",
    "raise_for_error",
    "read_error",
    "read_retry",
    "view",
]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
