"""A failed turn as one value, for authors of clients, however the agent reported it.

```python
try:
    client.raise_for_error(answer)          # a result, a response, or the exception it came as
except errors.AuthError:
    ...
shown = client.describe(error)          # what to say, which button, how long to wait
```

Only reads; opens nothing and sends nothing. `lastword.client.acp` does all of this for the official
SDK's client. `lastword.client.reconnect`, for viewers of a gateway, needs none of it.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lastword.client.display import ErrorView, describe
    from lastword.client.reading import RetryNotice, raise_for_error, read_error, read_retry
else:
    _HOMES = {
        "ErrorView": "lastword.client.display",
        "RetryNotice": "lastword.client.reading",
        "describe": "lastword.client.display",
        "raise_for_error": "lastword.client.reading",
        "read_error": "lastword.client.reading",
        "read_retry": "lastword.client.reading",
    }

    def __getattr__(name: str) -> object:
        """Import a name on first use.

        Code that needs only `lastword.client.reconnect` thus imports no classifier and no msgspec.
        """
        if name not in _HOMES:
            raise AttributeError(f"module 'lastword.client' has no attribute {name!r}")
        from importlib import import_module  # noqa: PLC0415  (its figure: benchmarks/late_imports.json)

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
]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
