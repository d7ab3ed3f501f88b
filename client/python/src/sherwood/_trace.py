# SPDX-License-Identifier: MIT
"""The trace context of the caller, if the program uses OpenTelemetry. This package does not import it."""

from __future__ import annotations

import sys
from typing import Optional

_SAMPLED = 1


def current() -> Optional[bytes]:
    """Returns the W3C traceparent of the current span of OpenTelemetry. None: the program has not imported
    opentelemetry.trace, or no span is current, or its trace is not sampled."""
    api = sys.modules.get("opentelemetry.trace")
    if api is None:
        return None
    get_span = getattr(api, "get_current_span", None)  # None while another thread imports the module
    if get_span is None:
        return None
    span = get_span().get_span_context()
    if not span.is_valid or not span.trace_flags & _SAMPLED:
        return None
    return b"00-%032x-%016x-%02x" % (span.trace_id, span.span_id, span.trace_flags)
