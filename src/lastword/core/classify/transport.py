"""Transport failures: exception classes, errno names and the sentences that transports write.

Used only if there was no HTTP status, except for certificate failures, which no status can excuse.
Every class of a cause chain counts, and the rows are ordered: a timeout anywhere in the chain is a
timeout, then bytes that are not HTTP, then a lost connection.
"""

from __future__ import annotations

import msgspec

from lastword.core.classify.messages.systems import TRANSPORT
from lastword.core.classify.text import names
from lastword.core.failure.taxonomy import ErrorType


class TransportRow(msgspec.Struct, frozen=True):
    """One kind of transport failure.

    `names` are class names and errno names; `phrases` are lower-case parts of messages.
    """

    type: ErrorType
    reason: str
    retryable: bool
    names: frozenset[str]
    phrases: tuple[str, ...]
    ascii_phrases: tuple[str, ...]

    def phrases_for(self, folded: str) -> tuple[str, ...]:
        """Return the phrases that a text may hold: most texts are plain ASCII."""
        return self.ascii_phrases if folded.isascii() else self.phrases


def _row(kind: ErrorType, reason: str, block: str, *phrases: str, retryable: bool) -> TransportRow:
    spoken = TRANSPORT.get(reason, ())
    every = (*phrases, *spoken)
    plain = tuple(filter(str.isascii, every))
    return TransportRow(kind, reason, retryable, names(block), every, plain)


CERTIFICATE = _row(
    ErrorType.NETWORK,
    "certificate",
    """SSLCertVerificationError CertificateError ClientConnectorCertificateError
    DEPTH_ZERO_SELF_SIGNED_CERT SELF_SIGNED_CERT_IN_CHAIN UNABLE_TO_GET_ISSUER_CERT
    UNABLE_TO_GET_ISSUER_CERT_LOCALLY UNABLE_TO_VERIFY_LEAF_SIGNATURE CERT_HAS_EXPIRED
    CERT_NOT_YET_VALID CERT_UNTRUSTED CERT_SIGNATURE_FAILURE CERT_REVOKED CERT_REJECTED
    ERR_TLS_CERT_ALTNAME_INVALID HOSTNAME_MISMATCH INVALID_CA CERT_CHAIN_TOO_LONG
    SSLPeerUnverifiedException CertPathValidatorException CertPathBuilderException
    SunCertPathBuilderException CertificateExpiredException ERR_PROXY_CERTIFICATE_INVALID
    ERR_SSL_PINNED_KEY_NOT_IN_CERT_CHAIN RemoteCertificateChainErrors
    RemoteCertificateNameMismatch RemoteCertificateNotAvailable""",
    "curl: (60)",
    "curl error 60:",
    "certificate_verify_failed",
    "certificate verify failed",
    "self-signed certificate",
    "self signed certificate",
    "unable to get local issuer certificate",
    "unable to verify the first certificate",
    "failed to verify certificate",
    "x509: certificate",
    "certificate has expired",
    "certificate is not trusted",
    "unknownissuer",
    "invalid peer certificate",
    "does not match certificate",
    "cert's altnames",
    "pkix path building failed",
    "pkix path validation failed",
    "err_cert_",
    "remote certificate is invalid",
    "remote certificate was rejected",
    "certificate is not yet valid",
    "certificate signed by unknown authority",
    "certificate is invalid",
    "certificate is valid for",
    "unable to get issuer certificate",
    "certificate unknown",
    "unknown ca",
    "bad certificate",
    retryable=False,
)

ROWS = (
    _row(
        ErrorType.NETWORK,
        "name_not_resolved",
        """ENOTFOUND ERR_NAME_NOT_RESOLVED EAI_NONAME EAI_NODATA UnknownHostException
        WSAHOST_NOT_FOUND WSANO_DATA UnresolvedAddressException""",
        "curl: (6)",
        "curl error 6:",
        "name or service not known",
        "nodename nor servname",
        "getaddrinfo enotfound",
        "no address associated with hostname",
        "getaddrinfo failed",
        "name does not resolve",
        "no such host",
        "failed to lookup address information: name",
        "could not resolve host",
        "couldn't resolve host",
        "no such host is known",
        "remote name could not be resolved",
        "server can't find",
        "winerror 11001",
        "errno 11001",
        "os error 11001",
        "exception (11001)",
        retryable=False,
    ),
    _row(
        ErrorType.NETWORK,
        "tls_version",
        "ERR_SSL_VERSION_OR_CIPHER_MISMATCH ERR_SSL_UNSUPPORTED_PROTOCOL NO_CIPHERS_AVAILABLE",
        "ssl .. unsupported protocol",
        "tls .. unsupported protocol",
        "alert protocol version",
        "tls: protocol version not supported",
        retryable=False,
    ),
    _row(
        ErrorType.INVALID_REQUEST,
        "bad_url",
        """ERR_INVALID_URL InvalidURL UnsupportedProtocol InvalidSchema MissingSchema
        InvalidProxyURL LocationParseError InvalidUrlClientError NonHttpUrlClientError
        InvalidURLError InvalidHeader LocalProtocolError TooManyRedirects
        ERR_INVALID_CHAR ERR_INVALID_PROTOCOL""",
        "bad port",
        "failed to execute 'fetch'",
        "invalid url",
        "failed to parse url",
        "unsupported protocol",
        "unsupported scheme",
        "unknown scheme",
        "no connection adapters were found",
        "relative url without a base",
        retryable=False,
    ),
    _row(
        ErrorType.TIMEOUT,
        "transport",
        """ReadTimeout ConnectTimeout WriteTimeout PoolTimeout APITimeoutError ReadTimeoutError
        ConnectTimeoutError NewConnectionTimeout ConnectionTimeoutError SocketTimeoutError
        ServerTimeoutError TimeoutException Timeout TimeoutError timeout ModelRequestTimeout
        HeadersTimeoutError BodyTimeoutError UND_ERR_HEADERS_TIMEOUT UND_ERR_BODY_TIMEOUT
        UND_ERR_CONNECT_TIMEOUT ETIMEDOUT ESOCKETTIMEDOUT ERR_TIMED_OUT
        ERR_SOCKET_CONNECTION_TIMEOUT
        ERR_CONNECTION_TIMED_OUT ConnectTimeoutException DeadlineExceeded RequestTimeoutError
        ClientConnectionTimeout APIConnectionTimeoutError GatewayTimeoutError
        ERR_HTTP2_PING_TIMEOUT TooSlowError HttpTimeoutException HttpConnectTimeoutException
        ConnectionPoolTimeoutException InterruptedIOException ERR_DNS_TIMED_OUT WSAETIMEDOUT
        ConnectionAcquisitionTimeout TimeoutCancellationException""",
        "curl: (28)",
        "curl error 28:",
        "timed out",
        "timeout error",
        "aborted due to timeout",
        "etimedout",
        "connection timeout",
        "connect .. : timeout",
        "read timeout",
        "request timeout",
        "timeout on reading",
        "timeout of ",
        "deadline exceeded",
        "idle timeout",
        "timeout awaiting",
        "timeout exceeded",
        "operation timed",
        "i/o timeout",
        "awaiting headers",
        "idle for too long",
        "did not properly respond",
        "source: timedout",
        "kind: timedout",
        "configured timeout",
        "handshake timeout",
        "(read timeout",
        "winerror 10060",
        "errno 10060",
        "os error 10060",
        "exception (10060)",
        "error 10060",
        "): 10060",
        "(os error 110)",
        "(os error 60)",
        "[errno 110]",
        retryable=True,
    ),
    _row(
        ErrorType.PROTOCOL_ERROR,
        "not_http",
        """HTTPParserError BadStatusLine BadHttpMessage JSONDecodeError JSONParseError
        UnicodeDecodeError LimitOverrunError APIResponseValidationError ResponseValidationError
        TypeValidationError NoObjectGeneratedError InvalidResponseDataError UnknownProtocol
        BadHttpMessageError LineTooLong ContentTypeError UnexpectedModelBehavior
        OutputParserException CLIJSONDecodeError MessageParseError InvalidJSONError
        InvalidMessage DecodeError NoOutputGeneratedError
        NoContentGeneratedError NoTextGeneratedError EmptyResponseBodyError UND_ERR_HEADERS_OVERFLOW
        UND_ERR_RES_EXCEEDED_MAX_SIZE HPE_INVALID_CONSTANT HPE_HEADER_OVERFLOW
        HPE_INVALID_HEADER_TOKEN HPE_INVALID_CHUNK_SIZE HPE_UNEXPECTED_CONTENT_LENGTH
        HPE_INVALID_STATUS HPE_INVALID_VERSION HPE_LF_EXPECTED HPE_CR_EXPECTED HPE_STRICT
        HPE_INVALID_CONTENT_LENGTH HPE_INVALID_TRANSFER_ENCODING MALFORMED_FUNCTION_CALL
        APIEmptyResponse MALFORMED_RESPONSE EmptyStreamError""",
        "parse error: expected",
        "does not match the http/1.1 protocol",
        "illegal status line",
        "bad status line",
        "did not contain valid utf-8",
        "chunk is longer than limit",
        "chunk exceed the limit",
        "malformed http response",
        "invalid http response",
        "could not parse the response",
        "not valid json",
        "empty or unparsable",
        "an empty stream",
        "empty_stream",
        "without sending any chunks",
        "yielded no chunks",
        "no usable completion",
        "no usable output",
        "in json at position",
        "is not valid json",
        "unexpected end of json input",
        "invalid utf-8",
        "error parsing sse",
        "invalid sse",
        "invalid chunk",
        "html instead of json",
        "looking for beginning of value",
        "eof while parsing",
        "key must be a string at line",
        "expecting value: line",
        "extra data: line",
        "delimiter: line",
        "property name enclosed in double quotes",
        "unterminated string starting at",
        "invalid control character at",
        "escape: line",
        "expected value at line",
        "trailing characters at line",
        "expected http/",
        "did not match any variant",
        "empty or malformed response",
        "response was empty",
        "not provide any assistant messages",
        "not provide a suitable response",
        "could not parse http",
        "invalid response from server",
        "invalid response from the server",
        "no assistant message",
        "empty response",
        "no response body",
        "no text generated",
        retryable=False,
    ),
    _row(
        ErrorType.NETWORK,
        "connection_refused",
        "ECONNREFUSED ConnectionRefusedError ERR_CONNECTION_REFUSED",
        "curl: (7)",
        "curl error 7:",
        "connection refused",
        "econnrefused",
        "all connection attempts failed",
        "couldn't connect to server",
        "failed to establish a new connection",
        "actively refused",
        "winerror 10061",
        "errno 10061",
        "os error 10061",
        "exception (10061)",
        "(os error 111)",
        "(os error 61)",
        "[errno 111]",
        "[errno 61]",
        retryable=True,
    ),
    _row(
        ErrorType.NETWORK,
        "truncated_stream",
        """IncompleteReadError IncompleteRead ChunkedEncodingError ClientPayloadError
        ERR_STREAM_PREMATURE_CLOSE StreamClosedError IncompleteBody TransferEncodingError
        ContentLengthError ERR_INCOMPLETE_CHUNKED_ENCODING ContentDecodingError DecodingError
        ZlibError Z_BUF_ERROR
        UND_ERR_RES_CONTENT_LENGTH_MISMATCH HPE_INVALID_EOF_STATE EndOfStream ResponseAborted
        StreamTruncatedError""",
        "curl: (18)",
        "curl error 18:",
        "incomplete chunked read",
        "without sending complete message body",
        "response ended prematurely",
        "premature close",
        "stream disconnected",
        '"failure_kind":"transport"',
        "stream ended",
        "stream closed",
        "error decoding response body",
        "payload is not completed",
        "unexpected eof",
        "unexpected end of file",
        "end of file reached",
        "incomplete read",
        "without a terminal event",
        "before completion",
        "decompression failed",
        "response truncated",
        "connection closed while reading",
        "closed before message completed",
        "incomplete envelope",
        "unexpected end of stream",
        "java.io.eofexception",
        "end of input at",
        "stream finished unexpectedly",
        "prematurely closed",
        "closed prematurely",
        "responseended",
        "stream was cut",
        "response was cut",
        "no complete response",
        "missing finish_reason",
        "incomplete json",
        retryable=True,
    ),
    _row(
        ErrorType.NETWORK,
        "connection_lost",
        """ECONNRESET EPIPE ECONNABORTED UND_ERR_SOCKET SocketError ConnectionResetError
        BrokenPipeError ConnectionAbortedError RemoteProtocolError ServerDisconnectedError
        RemoteDisconnected ReadError WriteError CloseError ClientOSError NoResponseError
        ConnectionClosedError ConnectionClosed ConnectionClosedOK ERR_CONNECTION_RESET
        ERR_CONNECTION_CLOSED ERR_SOCKET_CLOSED ERR_HTTP2_STREAM_ERROR ERR_HTTP2_STREAM_CANCEL
        ERR_HTTP2_GOAWAY_SESSION ERR_HTTP2_SESSION_ERROR ENOTCONN ESHUTDOWN
        UND_ERR_CLOSED UND_ERR_DESTROYED ModelConnectionError
        ConnectionClosedException ResponseClosedError StreamResetException ERR_HTTP2_PROTOCOL_ERROR
        ERR_QUIC_PROTOCOL_ERROR ERR_EMPTY_RESPONSE ERR_CONNECTION_ABORTED WSAECONNRESET
        WSAECONNABORTED ClosedChannelException AsynchronousCloseException PrematureCloseException
        NoHttpResponseException ConnectionShutdownException ERR_SOCKET_NOT_CONNECTED
        ERR_HTTP2_SERVER_REFUSED_STREAM ERR_NETWORK_IO_SUSPENDED StreamResetError
        responseStreamDisconnected responseStreamConnectionFailed httpConnectionFailed""",
        "curl: (52)",
        "curl error 52:",
        "curl: (56)",
        "curl error 56:",
        "curl: (55)",
        "curl error 55:",
        "curl: (92)",
        "curl error 92:",
        "connection reset",
        "econnreset",
        "socket hang up",
        "other side closed",
        "server disconnected",
        "peer closed connection",
        "connection aborted",
        "connection closed",
        "broken pipe",
        "epipe",
        "remote end closed",
        "connection was closed",
        "closed before .. response",
        "connection lost",
        "connection was lost",
        "websocket was closed",
        "websocket connection closed",
        "abnormal closure",
        "stream was reset",
        "socket connection was closed",
        "no close frame received",
        "upstream_disconnected",
        "upstream disconnected",
        "connection terminated",
        "network connection lost",
        "http2: ",
        "goaway",
        "stream error: stream id",
        "received from peer",
        "closed the connection",
        "closed connection",
        "no response received",
        "received no bytes",
        "server failed to respond",
        "forcibly closed",
        "use of closed network connection",
        "server closed idle connection",
        "connection shutdown",
        "peer reset",
        '": eof',
        "winerror 10054",
        "winerror 10053",
        "errno 10054",
        "errno 10053",
        "os error 10054",
        "os error 10053",
        "exception (10054)",
        "exception (10053)",
        "(os error 104)",
        "(os error 54)",
        "(os error 32)",
        "[errno 104]",
        "[errno 54]",
        retryable=True,
    ),
    _row(
        ErrorType.NETWORK,
        "connection_failed",
        """ConnectError APIConnectionError ConnectionError EndpointConnectionError
        ConnectionClosedEarly ConnectionFailed ClientConnectorError ClientConnectionError
        ClientConnectorSSLError
        ClientProxyConnectionError ProxyError ConnectTunnelError NetworkError TransportError
        NewConnectionError MaxRetryError gaierror ClientConnectorDNSError SSLError SSLEOFError
        SSLZeroReturnError EAI_AGAIN EAI_FAIL EHOSTUNREACH ENETUNREACH ENETDOWN EHOSTDOWN
        EADDRNOTAVAIL EPROTO ERR_INTERNET_DISCONNECTED ERR_NETWORK_CHANGED
        ERR_PROXY_CONNECTION_FAILED
        ERR_SSL_WRONG_VERSION_NUMBER HTTPClientError URLError ConnectionNotEstablished
        ServerConnectionError ProtocolError InvalidHandshake InvalidProxy
        InvalidProxyStatus ERR_SSL_PROTOCOL_ERROR ERR_NETWORK ClientSSLError
        WSServerHandshakeError ClosedResourceError BrokenResourceError ERR_TUNNEL_CONNECTION_FAILED
        ERR_FAILED ERR_ADDRESS_UNREACHABLE ERR_ADDRESS_INVALID ERR_NETWORK_ACCESS_DENIED
        ERR_CONNECTION_FAILED ERR_SOCKS_CONNECTION_FAILED ERR_SSL_CLIENT_AUTH_CERT_NEEDED
        ERR_CONTENT_LENGTH_MISMATCH ERR_INVALID_HTTP_RESPONSE ERR_ABORTED
        ResourceAccessException SSLHandshakeException SSLException NoRouteToHostException
        HttpHostConnectException WebClientRequestException HttpRequestException SocketException
        PortUnreachableException ProxyFailedToEstablishSocketConnection WSAENETUNREACH
        WSAEHOSTUNREACH""",
        "curl: (35)",
        "curl error 35:",
        "curl: (5)",
        "curl error 5:",
        "fetch failed",
        "connection error",
        "cannot connect to",
        "could not connect",
        "unable to connect",
        "typo in the url or port",
        "failed to connect",
        "error sending request",
        "network error",
        "network is unreachable",
        "network is unavailable",
        "network unavailable",
        "no internet",
        "no network",
        "dispatch failure",
        "temporary failure in name resolution",
        "no route to host",
        "eai_again",
        "wrong version number",
        "tls handshake",
        "ssl handshake",
        "tls connection",
        "client network socket disconnected",
        "connection failed",
        "error trying to connect",
        "dns error",
        "proxy connection",
        "tunneling socket could not be established",
        "failed to fetch",
        "network request failed",
        "ehostunreach",
        "enetunreach",
        "error communicating with",
        "proxyconnect tcp",
        "dial tcp",
        "connectex",
        "server misbehaving",
        "ssl connection could not be established",
        "secure connection could not be established",
        "error occurred while sending the request",
        "check your internet connection",
        "check your network",
        "check your firewall",
        "firewall rules and network",
        "i/o error on",
        "failed, reason:",
        "error(connect,",
        "setting up the connection",
        "establish a socket connection",
        "client error (connect)",
        "client error (sendrequest)",
        "unexpected eof during handshake",
        "winerror 10051",
        "winerror 10065",
        "winerror 11002",
        "winerror 10013",
        retryable=True,
    ),
)

EXACT_MESSAGES = {
    "terminated": "connection_lost",
    "fetch failed": "connection_failed",
    "load failed": "connection_failed",
    "eof": "truncated_stream",
    "error: eof": "truncated_stream",
}
"""Whole messages that mean a lost connection, and that would be too common as parts."""
