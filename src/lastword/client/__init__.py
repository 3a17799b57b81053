"""For authors of clients: a failed turn, however it was told, as one value.

```python
try:
    client.raise_for_error(answer)          # a result, a response, or the exception it came as
except errors.AuthRequired:
    ...
shown = client.view(error, now=time.time()) # what to say, which button, how long to wait
```

Reads only; opens nothing and sends nothing. `lastword.client.acp` does the whole of it for the
official SDK's client.
"""

from lastword.client.display import ErrorView, view
from lastword.client.raise_for import raise_for_error
from lastword.client.reading import read_error
from lastword.client.retries import RetryNotice, read_retry

__all__ = [
    "ErrorView",
    "RetryNotice",
    "raise_for_error",
    "read_error",
    "read_retry",
    "view",
]
