// Generated from the tables of src/lastword by protocol/typescript/generate_tables.py.
import type { Action, ErrorType, Origin } from "./agent_error.js";

/** Headers with a wait or a moment, each with the one that says whether its limit is used up. */
export type Buckets = readonly (readonly [header: string, usedUp: string])[];

export const TYPES: Record<ErrorType, { retryable: boolean; origin: Origin; action: Action; sentence: string }> = {
  "rate_limit": {"retryable": true, "origin": "provider", "action": "wait", "sentence": "The model provider is limiting requests."},
  "budget": {"retryable": false, "origin": "provider", "action": "top_up", "sentence": "The account's credits or its usage limit are used up."},
  "provider_unavailable": {"retryable": true, "origin": "provider", "action": "wait", "sentence": "The model provider is not available at the moment."},
  "context_overflow": {"retryable": false, "origin": "provider", "action": "shorten", "sentence": "The conversation is too long for this model."},
  "auth": {"retryable": false, "origin": "provider", "action": "login", "sentence": "The model provider refused the login or API key."},
  "unknown": {"retryable": false, "origin": "agent", "action": "report", "sentence": "The agent reported an error that was not recognised."},
  "model_not_found": {"retryable": false, "origin": "provider", "action": "switch_model", "sentence": "This model does not exist or is not open to this account."},
  "invalid_request": {"retryable": false, "origin": "provider", "action": "fix_configuration", "sentence": "The request was refused as invalid."},
  "content_filter": {"retryable": false, "origin": "provider", "action": "rephrase", "sentence": "The model provider's content policy blocked the request."},
  "timeout": {"retryable": true, "origin": "provider", "action": "retry", "sentence": "The model provider did not answer in time."},
  "network": {"retryable": true, "origin": "network", "action": "retry", "sentence": "The connection to the model provider failed."},
  "cancelled": {"retryable": false, "origin": "client", "action": "retry", "sentence": "The turn was cancelled."},
  "agent_crash": {"retryable": true, "origin": "process", "action": "restart", "sentence": "The agent's process ended unexpectedly."},
  "agent_stalled": {"retryable": true, "origin": "agent", "action": "restart", "sentence": "The agent stopped making progress."},
  "stderr_overflow": {"retryable": true, "origin": "agent", "action": "restart", "sentence": "The agent flooded its error output and was stopped."},
  "protocol_error": {"retryable": false, "origin": "agent", "action": "report", "sentence": "The agent sent an invalid message."},
  "internal": {"retryable": false, "origin": "agent", "action": "report", "sentence": "The agent failed because of an internal error."},
};

export const REASONS: Record<string, Record<string, { sentence?: string; advice?: string; action?: Action }>> = {
  "rate_limit": {"concurrency": {"sentence": "The model provider is limiting how many requests run at once."}, "usage_window": {"sentence": "The plan's usage limit for this period is used up."}},
  "budget": {"credits": {"sentence": "The account's credits are used up."}, "spend_cap": {"sentence": "The account's spending limit is reached."}, "usage_window": {"sentence": "The plan's usage limit for this period is used up."}, "daily_quota": {"sentence": "The daily quota is used up."}, "monthly_quota": {"sentence": "The monthly quota is used up."}, "spend_limit": {"sentence": "The spending limit that you set is reached.", "advice": "Raise --spend-limit to go on.", "action": "fix_configuration"}},
  "provider_unavailable": {"overloaded": {"sentence": "The model provider is overloaded."}, "model_loading": {"sentence": "The model is still being loaded."}, "oom": {"sentence": "The machine that runs the model is out of memory."}},
  "context_overflow": {"compaction_failed": {"sentence": "The conversation is too long and could not be compacted."}, "conversation_limit": {"sentence": "The conversation has reached the agent's own limit."}},
  "auth": {"login_required": {"sentence": "The agent asks for a login.", "advice": "Log in, then try again."}, "expired": {"sentence": "The login or API key has expired.", "advice": "Log in again or renew the API key."}, "region": {"sentence": "The model provider does not serve this country or region.", "advice": "Check the account's region, or switch to another model.", "action": "switch_model"}, "blocked": {"sentence": "A firewall in front of the model provider blocked the request.", "advice": "Check the network, proxy or VPN.", "action": "fix_configuration"}, "forbidden": {"sentence": "This account is not allowed to make the request.", "advice": "Check the account's permissions and the API key."}},
  "unknown": {"silent_success": {"sentence": "The agent ended the turn without an answer and without an error.", "advice": "Look at the agent's own log."}, "agent_cancelled": {"sentence": "The agent cancelled the turn by itself."}, "tool_server": {"sentence": "A tool server (MCP) that the agent uses failed.", "advice": "Check that server in the agent's configuration.", "action": "fix_configuration"}},
  "model_not_found": {},
  "invalid_request": {"bad_url": {"sentence": "The address of the model provider is not valid.", "advice": "Check the provider's address in the agent's configuration."}, "method_not_found": {"sentence": "The agent does not support this request."}, "invalid_params": {"sentence": "The agent refused the request's parameters."}, "resource_not_found": {"sentence": "The agent does not know what the request refers to."}},
  "content_filter": {"refusal": {"sentence": "The model declined to answer."}},
  "timeout": {"provider_silent": {"sentence": "The model provider did not answer the agent's request.", "advice": "Try again, or choose another model if it happens again."}},
  "network": {"provider_unreachable": {"sentence": "The agent could not connect to the model provider.", "advice": "Check the network, proxy or VPN."}, "certificate": {"sentence": "The connection failed: a TLS certificate could not be verified.", "advice": "Check the proxy and the trusted certificates.", "action": "fix_configuration"}, "tls_version": {"sentence": "The connection failed: the two sides have no TLS version in common.", "advice": "Check the proxy and the provider's address.", "action": "fix_configuration"}, "name_not_resolved": {"sentence": "The model provider's host name could not be found.", "advice": "Check the provider's address and your network.", "action": "fix_configuration"}, "connection_refused": {"sentence": "The connection to the model provider was refused."}, "truncated_stream": {"sentence": "The model provider's answer was cut off."}},
  "cancelled": {},
  "agent_stalled": {"runaway": {"sentence": "The agent repeated the same step without end and was stopped.", "advice": "Rephrase the request, or choose another model.", "action": "rephrase"}},
  "protocol_error": {"line_too_long": {"sentence": "The agent sent a message over the size limit."}, "protocol_version": {"sentence": "The two sides speak different versions of the protocol.", "advice": "Update the older of the two."}, "not_http": {"sentence": "The model provider's answer could not be read."}},
  "internal": {"disk_full": {"sentence": "The agent could not write: the disk is full, or its quota is used up."}},
};

export const ADVICE: Record<Action, string> = {
  "wait": "Try again in a moment.",
  "retry": "Try again.",
  "continue": "Ask the agent to continue.",
  "confirm_retry": "Check what has already been done before you try again.",
  "login": "Log in again or check the API key.",
  "top_up": "Add credits, wait for the limit to reset, or switch to another model.",
  "switch_model": "Choose another model.",
  "shorten": "Compact or shorten the conversation, or choose a model with more room.",
  "rephrase": "Rephrase the request.",
  "fix_configuration": "Check the agent's configuration.",
  "restart": "Start the agent again, then try again.",
  "report": "Check the details, and report it if it happens again.",
};

export const MISREAD: Record<string, string> = {
  "session not found": "no such session",
  "unknown session": "no such session",
  "user aborted": "stopped by the user",
  "this operation was aborted": "the operation was stopped",
  "empty response text": "a response without text",
};

export const CLIENTS: Record<string, { rung: string; details: string }> = {
  "zed": {"rung": "error_with_meta", "details": "alone"},
  "acpx": {"rung": "error_with_meta", "details": "told"},
};

export const STATUSES: Record<string, ErrorType> = {
  "401": "auth",
  "402": "budget",
  "403": "auth",
  "404": "model_not_found",
  "407": "auth",
  "408": "timeout",
  "413": "context_overflow",
  "424": "provider_unavailable",
  "429": "rate_limit",
  "498": "provider_unavailable",
  "504": "timeout",
  "522": "timeout",
  "524": "timeout",
  "598": "timeout",
  "599": "timeout",
  "4xx": "invalid_request",
  "5xx": "provider_unavailable",
};

export const CODES: Record<number, { type: ErrorType; reason: string; origin?: Origin }> = {
  "-32700": {"type": "protocol_error", "reason": "parse_error", "origin": "client"},
  "-32600": {"type": "protocol_error", "reason": "invalid_frame", "origin": "client"},
  "-32601": {"type": "invalid_request", "reason": "method_not_found", "origin": "client"},
  "-32602": {"type": "invalid_request", "reason": "invalid_params", "origin": "client"},
  "-32000": {"type": "auth", "reason": "login_required"},
  "-32001": {"type": "invalid_request", "reason": "resource_not_found"},
  "-32002": {"type": "invalid_request", "reason": "resource_not_found"},
};

export const STRONG: readonly (readonly [ErrorType, readonly string[], readonly string[]])[] = [
  ["context_overflow", ["compactionfailed", "contextexceeded", "contextlengthexceeded", "contextlimitexceeded", "contextoverflow", "contexttoolong", "contextwindowexceeded", "contextwindowoverflow", "exceedcontextsize", "inputlengthexceeded", "inputtokensexceeded", "inputtoolong", "maxcontextlengthexceeded", "maxtokensexceeded", "modelcontextwindowexceeded", "modelmaxprompttokensexceeded", "payloadtoolarge", "prompttoolong", "requestentitytoolarge", "requesttoolarge", "stringabovemaxlength", "tokenlimitexceeded", "tokenslimitreached"], ["prompt is too long", "prompt too long", "prompt was too long", "input is too long", "input too long", "context too long", "context is too long", "conversation is too long", "conversation too long", "request too large", "request is too large", "request body too large", "request body is too large", "request entity too large", "payload too large", "content too large", "too large for model", "too large to compact", "too many tokens:", "too many tokens in", "too many tokens to", "maximum context length", "maximum prompt length", "maximum context size", "maximum sequence length", "maximum model length", "maximum input length", "max context length", "max input characters", "max input tokens", "max_seq_len", "max_model_len", "context length exceed", "context length is exceed", "context length was exceed", "context window exceed", "context size exceed", "context limit exceed", "context limit reached", "context size has been exceeded", "context window is full", "context overflow", "context the overflows", "context_length_exceeded", "exceed .. context limit", "exceed .. context window", "exceed .. context length", "exceed .. context size", "exceed .. maximum number of tokens", "exceed .. maximum allowed input", "exceed .. input token limit", "exceed .. model token limit", "exceed .. maximum input", "exceeds the available context", "configured context size", "greater than the context length", "larger than .. context", "longer than .. context", "longer than the maximum", "ran out of room in the model's context", "prompt token count of .. exceed", "prompt exceeds max", "input token count .. exceed", "input tokens exceed", "input length .. exceed", "input exceeds the maximum", "input exceeds maximum", "current length is .. while limit is", "reduce the length of", "reduce your message size", "reduce the size of your", "reduce your prompt", "shorten your prompt", "input or output tokens must be reduced", "range of input length should be", "must have less than .. tokens", "tokens + `max_new_tokens` must be", "number of tokens in the prompt", "max_tokens must be at least 1, got -", "free space in the kv cache", "find a kv slot", "string too long. expected", "request exceeds the maximum size", "request size exceed", "input token count is", "image exceeds .. maximum", "max allowed size", "pdf pages may be provided", "compaction failed", "too long for the model", "tokens .. more than the"]],
  ["content_filter", ["biopolicy", "blockedprompt", "blocklist", "contentblocked", "contentfilter", "contentmoderation", "contentpolicy", "contentpolicyviolation", "cyberpolicy", "cyberpolicyviolation", "datainspectionfailed", "flaggedcontent", "guardrailintervened", "guardrailintervention", "guardrailraised", "imagesafety", "inputguardrailtripwiretriggered", "invalidprompt", "jailbreak", "modelrefusal", "moderation", "moderationblocked", "outputguardrailtripwiretriggered", "prohibitedcontent", "promptblocked", "promptshieldviolation", "recitation", "refusal", "responsibleaipolicyviolation", "riskcontrol", "safety", "safetyviolation", "sensitivewords", "spii", "stopcandidate", "usagepolicyviolation"], ["content management policy", "content filter", "content_filter", "content policy", "content policies", "usage policy", "usage policies", "usage guidelines", "responsible ai", "safety system", "safety filter", "safety settings", "safety reasons. please", "safety check", "prohibited_content", "prohibited content", "flagged as potentially", "flagged by", "was flagged", "considered high risk", "inappropriate content", "sensitive content", "unsafe or sensitive", "unsafe content", "unsafe material", "contains unsafe", "containing unsafe", "sensitive words", "new_sensitive", "content exists risk", "content moderation", "moderation policy", "blocked by policy", "blocked by our", "blocked .. guardrail", "guardrail intervened", "guardrail checks", "sensitive information", "is censored", "was censored", "outputted is blocked", "prompt blocked", "prompt was blocked", "prompt has been blocked", "response was blocked", "response was filtered", "blocked due to safety", "blocked because of safety", "blocked for safety", "declined to respond", "violates our", "violate our", "terms of service violation", "inspection failed"]],
  ["budget", ["accessterminatedbilling", "accountonhold", "accountoverdue", "agentmodelimitexceeded", "allocationquotafreetieronly", "arrearage", "billing", "billingdisabled", "billinghardlimitreached", "billingnotactive", "budgetexceeded", "budgetexhausted", "commoditynotpurchased", "creditbalancetoolow", "credits", "creditsexhausted", "dailylimitexceeded", "enforcedspendlimitreached", "errormaxbudgetusd", "errormaxturns", "exceededbudget", "exceededcurrentquota", "exceededtokenbudget", "freetierexhausted", "freeusagelimit", "gousagelimit", "insufficientbalance", "insufficientcredits", "insufficientfunds", "insufficientg1creditsbalance", "insufficientquota", "invalidpaymentinstrument", "linkedorganizationspendlimitreached", "maxbudgetexceeded", "maxturnsexceeded", "monthlylimit", "monthlylimitreached", "openrouterfreetierdaily", "organizationspendlimitexceeded", "outofbalance", "outofcredits", "paymentrequired", "planlimitreached", "postpaidbilloverdue", "prepaidbilloverdue", "projectspendlimitexceeded", "providerbudgetexceeded", "quotaexceeded", "quotaexhausted", "ratelimitexceededdaily", "servicequotaexceeded", "sessionbudgetexceeded", "spendinglimitreached", "spendlimitexceeded", "spendlimitreached", "subscriptionusagelimit", "teambudgetexceeded", "terminalquota", "usagelimit", "usagelimitexceeded", "usagelimitreached", "usagenotincluded", "userbudgetexceeded", "userlimit", "workspacemembercreditsdepleted", "workspacememberusagelimitreached", "workspaceownercreditsdepleted", "workspaceownerusagelimitreached", "workspacespendlimitreached"], ["cooldown .. billing", "exceeded .. monthly", "insufficient balance", "insufficient account balance", "insufficient credit", "insufficient fund", "insufficient .. funds", "quota is not enough", "quota not enough", "pre-consumed quota failed", "insufficient_quota", "insufficient quota", "insufficient token quota", "credit balance", "account balance", "balance is insufficient", "balance is too low", "balance not enough", "not enough balance", "out of funds", "negative balance", "out of credit", "no credits", "any credits", "credit card", "not enough credit", "requires more credits", "more credits, or fewer", "can only afford", "add credits", "add more credits", "buy credits", "buy more credits", "purchase more credits", "purchase credits", "used all available credits", "used up your", "lacks credit", "credits have been exhausted", "credits exhausted", "credits are exhausted", "credits depleted", "credits are depleted", "credits have been depleted", "credit limit", "credits required", "ran out of credits", "run out of credits", "budget has been exceeded", "budget exceeded", "exceeded budget", "exceeded .. budget", "maximum budget", "max budget", "over budget", "spend limit", "spending limit", "spending cap", "spend cap", "key limit exceeded", "payment instrument", "payment_instrument", "usage threshold", "usage limit reached", "usage limit exceeded", "usage limit has", "reached your usage limit", "reached your .. usage limit", "reached the usage limit", "reached its usage limit", "reached their usage limit", "usage limit for", "exhausted .. usage limit", "exceeded .. usage limit", "hit your usage limit", "hit your session limit", "hit your weekly limit", "hit your monthly", "hit your daily", "hit your opus limit", "hit your sonnet limit", "hit your limit", "5-hour limit", "5-hour window", "session limit reached", "weekly usage", "weekly .. limit", "weekly .. quota", "monthly .. limit", "monthly .. quota", "daily .. limit", "daily .. quota", "package .. expired", "plan .. expired", "monthly usage", "monthly included credits", "month's usage", "next billing", "daily usage", "daily free", "daily tokens", "tokens used up", "today's quota", "today's limit", "again tomorrow", "out of requests", "per day", "per 86400s", "per-day", "per_day", "/ day", "calls/day", "requests/day", "tokens/day", "/ month", "calls/month", "requests/month", "tokens/month", "per month", "requests per month", "limit_rpd", "limit_tpd", "(tpd)", "(rpd)", "tpd limit", "rpd limit", "_rpd", "_tpd", "tpd rate limit", "rpd rate limit", "for this month", "reached .. this month", "have no quota", "no quota", "quota has been used", "quota used up", "exhausted your daily", "exhausted your monthly", "exceeded your premium", "free quota", "free allocated quota", "premium request", "free tier is not available", "free tier of the model has been exhausted", "free usage limit", "free usage has", "free limit", "free tier limit", "free messages", "used all of your", "run out of .. requests", "ran out of .. requests", "usage-based pricing", "out of .. credits", "free trial", "trial has ended", "trial expired", "enable billing", "billing hard limit", "billing account", "billing is not active", "payment required", "payment method", "good standing", "in arrears", "overdue", "recharge", "top up", "top-up", "topping up", "request_limit of", "subscription .. expired", "expired .. subscription", "subscription has ended", "no active subscription", "upgrade for higher limits", "upgrade your plan", "out of extra usage", "extra usage is"]],
  ["model_not_found", ["deploymentnotfound", "gatewaymodelnotfound", "invalidendpointnotfound", "invalidendpointormodelnotfound", "invalidmodel", "keymodelaccessdenied", "modelaccessdenied", "modeldecommissioned", "modeldeprecated", "modeldisabled", "modeldoesnotexist", "modelnotallowed", "modelnotavailable", "modelnotenabled", "modelnotexist", "modelnotfound", "modelnotopen", "modelnotsupported", "modelrestricted", "modeltermsrequired", "modelunavailableforaccount", "nosuchmodel", "nosuchprovider", "orgmodelaccessdenied", "projectmodelaccessdenied", "providermodelnotfound", "teammodelaccessdenied", "unknownmodel", "unsupportedmodel", "usermodelaccessdenied"], []],
  ["auth", ["accessdenied", "accesstokenexpired", "accesstokenscopeinsufficient", "accesstokentypeunsupported", "accountdeactivated", "accountsuspended", "apikeyhttpreferrerblocked", "apikeyinvalid", "apikeyserviceblocked", "authentication", "authenticationfailed", "autherror", "authunavailable", "cloudcredential", "consumersuspended", "credentialretrieval", "credentialsmissing", "defaultcredentials", "expiredkey", "expiredtoken", "forbidden", "gatewayauthentication", "incompletesignature", "invalidapikey", "invalidauthentication", "invalidclient", "invalidclienttokenid", "invalidgrant", "invalidiamtoken", "invalidorganization", "invalidsignature", "invalidtoken", "ipnotauthorized", "keyexpired", "loadapikey", "loginrequired", "mismatchedproject", "missingapikey", "missingauthenticationtoken", "modelauthentication", "modelpermissiondenied", "noapikey", "nocredentials", "notauthorized", "oauthorgnotallowed", "optinrequired", "organizationdeactivated", "organizationonhold", "organizationrestricted", "partialcredentials", "permission", "permissiondenied", "profilenotfound", "providerauth", "proxyauthenticationrequired", "refresh", "requestforbidden", "servicedisabled", "signaturedoesnotmatch", "ssotokenload", "tokenexpired", "tokennotfoundindb", "tokenrefreshrequired", "tokenretrieval", "unauthenticated", "unauthorized", "unauthorizedssotoken", "unrecognizedclient", "unsupportedcountryregionterritory", "verificationrequired", "workspacesuspended"], []],
  ["network", ["connectionlost", "incompletetoolcall", "midstreamfallback", "streamdisconnected", "transportlost", "upstreamdisconnected"], []],
  ["provider_unavailable", ["apioverloaded", "badgateway", "capacityexceeded", "cmekkeyunreachable", "dependencyfailed", "engineoverloaded", "gatewayinternalserver", "insufficientcapacity", "internalfailure", "internalserver", "modelerror", "modelloading", "modelnotready", "modeloverloaded", "modelservicefailed", "modelserving", "modelstreamerror", "modelunavailable", "noprovideravailable", "outofcapacity", "overloaded", "providerunavailable", "queueexceeded", "servererror", "serverisoverloaded", "serveroverloaded", "serviceunavailable", "temporarilyunavailable", "unavailable", "upstream", "upstreamunavailable"], []],
  ["rate_limit", ["accelerationlimitexceeded", "concurrencylimitexceeded", "concurrentrequests", "gatewayratelimit", "integrationratelimited", "keyratelimited", "limitburstrate", "limitrequests", "modelcooldown", "modelratelimit", "modelratelimited", "openrouterinflightbudget", "provisionedthroughputexceeded", "ramplimitexceeded", "ratelimit", "ratelimited", "ratelimitexceeded", "ratelimitreached", "requestlimitexceeded", "requestlimitreached", "requestquotaexceeded", "requestsratelimitexceeded", "requestthrottled", "resourceexhausted", "throttled", "throttling", "throttlingallocationquota", "throttlingburstrate", "throttlingratequota", "throttlinguser", "tokensratelimitexceeded", "toomanyrequests", "userglobalratelimited", "usermodelratelimited", "userratelimited"], ["rate limit", "rate-limit", "rate_limit", "ratelimit", "rate exceeded", "too many requests", "too many tokens", "too many concurrent", "too many calls", "throttl", "traffic is currently high", "currently high traffic", "requests per minute", "tokens per minute", "token per minute", "request per minute", "per-minute", "per_minute", "requests per second", "tokens per min", "requests per min", "(tpm)", "(rpm)", "max rpm", "max tpm", "limit_rpm", "limit_tpm", "rpm limit", "tpm limit", "qps limit", "cooling down", "cooldown", "rate increased too quickly", "resource has been exhausted", "resource exhausted", "resource_exhausted", "exhausted your capacity", "parallel request", "concurrent request", "concurrency limit", "max concurrency", "maximum concurrency", "in-flight spending budget", "requests too quickly", "requests too fast", "temporarily limiting requests", "ramp limit", "request limit reached", "limiting requests", "crossed tpm", "crossed rpm", "error code: 1015", "usage pattern does not comply", "request frequency", "qpsoverflow", "qps overflow"]],
  ["timeout", ["deadlineexceeded", "gatewaytimeout", "idletimeout", "internalerrortimeout", "modeltimeout", "requesttimedout", "requesttimeout", "streamtimeout", "timedout", "timeout", "upstreamtimeout"], []],
];

export const PARTS: readonly (readonly [ErrorType, readonly string[]])[] = [
  ["context_overflow", ["contextlength", "contextwindow", "contextsize", "contextlimit", "contextoverflow", "toolong", "toomanytokens", "inputtokens", "prompttokens", "contenttoolarge"]],
  ["content_filter", ["contentfilter", "contentpolicy", "contentmoderat", "sensitive", "censor", "moderation", "safety", "guardrail", "inappropriate", "policyviolation", "usagepolicy"]],
  ["budget", ["insufficientbalance", "insufficientquota", "insufficientcredit", "insufficientfund", "billing", "payment", "arrear", "overdue", "quotareached", "quotaexceed", "quotaexhaust", "spendlimit", "spendinglimit", "budget", "usagelimit", "dailylimit", "monthlylimit", "creditlimit", "outofcredit", "creditsexhaust", "balancenotenough", "lowbalance", "notenoughbalance", "notenoughcredit", "outoffunds"]],
  ["model_not_found", ["modelnotfound", "modelnotexist", "modelnotsupport", "unsupportedmodel", "invalidmodel", "modelaccess", "modeldeprecat", "endpointnotfound", "deploymentnotfound", "unknownmodel", "modelnotavailable", "modelunavailable", "modelretired", "modelgated"]],
  ["auth", ["authfail", "authentication", "unauthorized", "unauthenticated", "apikey", "credential", "accesstoken", "permission", "forbidden", "accessdenied", "signature", "tokenexpired", "loginrequired", "notloggedin", "unauthoriz", "invalidkey", "wrongkey", "failedtoauth", "accessdeny"]],
  ["invalid_request", ["notsupported", "unsupported", "validationfail", "invalidinput"]],
  ["provider_unavailable", ["overload", "unavailable", "capacity", "serverbusy", "maintenance", "modelloading", "enginedead"]],
  ["rate_limit", ["ratelimit", "toomanyrequest", "throttl", "limitexceed", "concurren", "toofast", "requestlimit", "qpslimit", "tpmlimit", "rpmlimit", "toofrequent"]],
  ["timeout", ["timeout", "timedout", "deadline"]],
];

export const WEAK: readonly (readonly [ErrorType, readonly string[]])[] = [
  ["model_not_found", ["notfound", "resourcenotfound"]],
  ["invalid_request", ["badrequest", "badrequestbody", "claudecodeversiontooold", "conflict", "extraforbidden", "failedprecondition", "gatewayinvalidrequest", "invalidargument", "invalidbody", "invaliddatacontent", "invalidfunctionparameters", "invalidjson", "invalidmessagerole", "invalidparameter", "invalidparams", "invalidrequest", "invalidrequestbody", "invalidtype", "invalidvalue", "jsonschemavalidation", "loadsetting", "malformedrequest", "maxoutputtokens", "messageconversion", "methodnotallowed", "missingrequiredparameter", "missingsessionid", "missingtoolresults", "modelinvalidrequest", "outofrange", "parametererror", "paramvalidation", "previousresponsenotfound", "providerbadrequest", "underrinvalidarg", "unimplemented", "unknownparameter", "unprocessableentity", "unsupportedfunctionality", "unsupportedoperation", "unsupportedparameter", "unsupportedparams", "unsupportedvalue", "validation"]],
  ["provider_unavailable", ["aborted", "apierror", "dataloss", "internal", "internalerror", "internalserver", "systemerror", "unknownprovider"]],
];

export const UNLESS: Record<string, readonly string[]> = {
  "context_overflow": ["length of max output tokens", "\u65f6\u95f4\u8fc7\u957f", "\u6642\u9593\u904e\u9577"],
  "content_filter": ["fair usage", "access to this site", "this website", "fair use"],
  "budget": ["in-flight", "increase your rate limit by", "not your usage limit", "allocated quota exceeded,", "disk quota exceeded"],
  "rate_limit": [],
};

export const QUOTA: readonly string[] = ["exceeded your current quota", "check your plan and billing", "check your billing", "billing details", "quota exhausted", "quota has been exhausted", "quota is exhausted", "exhausted your quota", "exceeded your quota", "quota exceeded", "quota limit exceeded", "service quota", "volume quota", "quota will reset", "out of quota", "quota .. reached", "quota violation"];

export const PER_MINUTE: readonly string[] = ["per minute", "perminute", "per_minute", "per-minute", "per second", "per_second", "persecond", "(tpm)", "(rpm)", "quota exceeded for aiplatform"];

export const PER_DAY: readonly string[] = ["per day", "perday", "per_day", "per-day", "(tpd)", "(rpd)", "/ day", "/day", "per month", "per_month", "permonth", "/ month", "/month", "daily", "monthly", "weekly"];

export const BY_CLASS: Record<string, ErrorType> = {
  "authentication": "auth",
  "badgateway": "provider_unavailable",
  "badrequest": "invalid_request",
  "conflict": "invalid_request",
  "failedprecondition": "invalid_request",
  "forbidden": "auth",
  "gatewaytimeout": "timeout",
  "internalserver": "provider_unavailable",
  "invalidargument": "invalid_request",
  "invalidprompt": "invalid_request",
  "invalidrequest": "invalid_request",
  "methodnotallowed": "invalid_request",
  "notfound": "model_not_found",
  "permission": "auth",
  "permissiondenied": "auth",
  "quota": "rate_limit",
  "ratelimit": "rate_limit",
  "resourceexhausted": "rate_limit",
  "servererror": "provider_unavailable",
  "serviceunavailable": "provider_unavailable",
  "streamfailed": "provider_unavailable",
  "toomanyrequests": "rate_limit",
  "unauthenticated": "auth",
  "unauthorized": "auth",
  "unprocessableentity": "invalid_request",
  "unsupportedparams": "invalid_request",
  "validation": "protocol_error",
};

export const TRANSPORT: readonly { type: ErrorType; reason: string; retryable: boolean; names: readonly string[] }[] = [
  {"type": "network", "reason": "certificate", "retryable": false, "names": ["certchaintoolong", "certhasexpired", "certificate", "certificateexpired", "certnotyetvalid", "certpathbuilder", "certpathvalidator", "certrejected", "certrevoked", "certsignaturefailure", "certuntrusted", "clientconnectorcertificate", "depthzeroselfsignedcert", "errproxycertificateinvalid", "errsslpinnedkeynotincertchain", "errtlscertaltnameinvalid", "hostnamemismatch", "invalidca", "remotecertificatechainerrors", "remotecertificatenamemismatch", "remotecertificatenotavailable", "selfsignedcertinchain", "sslcertverification", "sslpeerunverified", "suncertpathbuilder", "unabletogetissuercert", "unabletogetissuercertlocally", "unabletoverifyleafsignature"]},
  {"type": "network", "reason": "name_not_resolved", "retryable": false, "names": ["eainodata", "eainoname", "enotfound", "errnamenotresolved", "unknownhost", "unresolvedaddress", "wsahostnotfound", "wsanodata"]},
  {"type": "network", "reason": "tls_version", "retryable": false, "names": ["errsslunsupportedprotocol", "errsslversionorciphermismatch", "nociphersavailable"]},
  {"type": "invalid_request", "reason": "bad_url", "retryable": false, "names": ["errinvalidchar", "errinvalidprotocol", "errinvalidurl", "invalidheader", "invalidproxyurl", "invalidschema", "invalidurl", "invalidurlclient", "localprotocol", "locationparse", "missingschema", "nonhttpurlclient", "toomanyredirects", "unsupportedprotocol"]},
  {"type": "timeout", "reason": "transport", "retryable": true, "names": ["apiconnectiontimeout", "apitimeout", "bodytimeout", "clientconnectiontimeout", "connectionacquisitiontimeout", "connectionpooltimeout", "connectiontimeout", "connecttimeout", "deadlineexceeded", "errconnectiontimedout", "errdnstimedout", "errhttp2pingtimeout", "errsocketconnectiontimeout", "errtimedout", "esockettimedout", "etimedout", "gatewaytimeout", "headerstimeout", "httpconnecttimeout", "httptimeout", "interruptedio", "modelrequesttimeout", "newconnectiontimeout", "pooltimeout", "readtimeout", "requesttimeout", "servertimeout", "sockettimeout", "timeout", "timeoutcancellation", "tooslow", "underrbodytimeout", "underrconnecttimeout", "underrheaderstimeout", "writetimeout", "wsaetimedout"]},
  {"type": "protocol_error", "reason": "not_http", "retryable": false, "names": ["apiemptyresponse", "apiresponsevalidation", "badhttpmessage", "badstatusline", "clijsondecode", "contenttype", "decode", "emptyresponsebody", "emptystream", "hpecrexpected", "hpeheaderoverflow", "hpeinvalidchunksize", "hpeinvalidconstant", "hpeinvalidcontentlength", "hpeinvalidheadertoken", "hpeinvalidstatus", "hpeinvalidtransferencoding", "hpeinvalidversion", "hpelfexpected", "hpestrict", "hpeunexpectedcontentlength", "httpparser", "invalidjson", "invalidmessage", "invalidresponsedata", "jsondecode", "jsonparse", "limitoverrun", "linetoolong", "malformedfunctioncall", "malformedresponse", "messageparse", "nocontentgenerated", "noobjectgenerated", "nooutputgenerated", "notextgenerated", "outputparser", "responsevalidation", "typevalidation", "underrheadersoverflow", "underrresexceededmaxsize", "unexpectedmodelbehavior", "unicodedecode", "unknownprotocol"]},
  {"type": "network", "reason": "connection_refused", "retryable": true, "names": ["connectionrefused", "econnrefused", "errconnectionrefused"]},
  {"type": "network", "reason": "truncated_stream", "retryable": true, "names": ["chunkedencoding", "clientpayload", "contentdecoding", "contentlength", "decoding", "endofstream", "errincompletechunkedencoding", "errstreamprematureclose", "hpeinvalideofstate", "incompletebody", "incompleteread", "responseaborted", "streamclosed", "streamtruncated", "transferencoding", "underrrescontentlengthmismatch", "zbuf", "zlib"]},
  {"type": "network", "reason": "connection_lost", "retryable": true, "names": ["asynchronousclose", "brokenpipe", "clientos", "closedchannel", "closeerror", "connectionaborted", "connectionclosed", "connectionclosedok", "connectionreset", "connectionshutdown", "econnaborted", "econnreset", "enotconn", "epipe", "errconnectionaborted", "errconnectionclosed", "errconnectionreset", "erremptyresponse", "errhttp2goawaysession", "errhttp2protocol", "errhttp2serverrefusedstream", "errhttp2session", "errhttp2stream", "errhttp2streamcancel", "errnetworkiosuspended", "errquicprotocol", "errsocketclosed", "errsocketnotconnected", "eshutdown", "httpconnectionfailed", "modelconnection", "nohttpresponse", "noresponse", "prematureclose", "readerror", "remotedisconnected", "remoteprotocol", "responseclosed", "responsestreamconnectionfailed", "responsestreamdisconnected", "serverdisconnected", "socketerror", "streamreset", "underrclosed", "underrdestroyed", "underrsocket", "writeerror", "wsaeconnaborted", "wsaeconnreset"]},
  {"type": "network", "reason": "connection_failed", "retryable": true, "names": ["apiconnection", "brokenresource", "clientconnection", "clientconnector", "clientconnectordns", "clientconnectorssl", "clientproxyconnection", "clientssl", "closedresource", "connect", "connection", "connectionclosedearly", "connectionfailed", "connectionnotestablished", "connecttunnel", "eaddrnotavail", "eaiagain", "eaifail", "ehostdown", "ehostunreach", "endpointconnection", "enetdown", "enetunreach", "eproto", "erraborted", "erraddressinvalid", "erraddressunreachable", "errconnectionfailed", "errcontentlengthmismatch", "errfailed", "errinternetdisconnected", "errinvalidhttpresponse", "errnetwork", "errnetworkaccessdenied", "errnetworkchanged", "errproxyconnectionfailed", "errsocksconnectionfailed", "errsslclientauthcertneeded", "errsslprotocol", "errsslwrongversionnumber", "errtunnelconnectionfailed", "gai", "httpclient", "httphostconnect", "httprequest", "invalidhandshake", "invalidproxy", "invalidproxystatus", "maxretry", "network", "newconnection", "noroutetohost", "portunreachable", "protocolerror", "proxyerror", "proxyfailedtoestablishsocketconnection", "resourceaccess", "serverconnection", "socketexception", "ssl", "ssleof", "sslhandshake", "sslzeroreturn", "transporterror", "urlerror", "webclientrequest", "wsaehostunreach", "wsaenetunreach", "wsserverhandshake"]},
];

export const EXACT: Record<string, string> = {
  "terminated": "connection_lost",
  "fetch failed": "connection_failed",
  "load failed": "connection_failed",
  "eof": "truncated_stream",
  "error: eof": "truncated_stream",
};

export const WINDOWS: Record<string, readonly [ErrorType, string]> = {
  "perday": ["budget", "daily_quota"],
  "permonth": ["budget", "monthly_quota"],
  "perminute": ["rate_limit", "per_minute"],
  "persecond": ["rate_limit", "per_second"],
};

export const GENERIC: readonly string[] = ["apiconnection", "apierror", "apistatus", "authentication", "badgateway", "badrequest", "conflict", "failedprecondition", "forbidden", "gatewaytimeout", "internalerror", "internalserver", "invalidargument", "invalidprompt", "invalidrequest", "notfound", "permission", "permissiondenied", "ratelimit", "resourceexhausted", "servererror", "serviceunavailable", "timeout", "toomanyrequests", "unauthorized", "unprocessableentity"];

export const LISTED: readonly string[] = ["aborted", "apiconnection", "apierror", "apistatus", "authentication", "badgateway", "badrequest", "badrequestbody", "claudecodeversiontooold", "conflict", "dataloss", "extraforbidden", "failedprecondition", "forbidden", "gatewayinvalidrequest", "gatewaytimeout", "internal", "internalerror", "internalserver", "invalidargument", "invalidbody", "invaliddatacontent", "invalidfunctionparameters", "invalidjson", "invalidmessagerole", "invalidparameter", "invalidparams", "invalidprompt", "invalidrequest", "invalidrequestbody", "invalidtype", "invalidvalue", "jsonschemavalidation", "loadsetting", "malformedrequest", "maxoutputtokens", "messageconversion", "methodnotallowed", "missingrequiredparameter", "missingsessionid", "missingtoolresults", "modelinvalidrequest", "notfound", "outofrange", "parametererror", "paramvalidation", "permission", "permissiondenied", "previousresponsenotfound", "providerbadrequest", "ratelimit", "resourceexhausted", "resourcenotfound", "servererror", "serviceunavailable", "systemerror", "timeout", "toomanyrequests", "unauthorized", "underrinvalidarg", "unimplemented", "unknownparameter", "unknownprovider", "unprocessableentity", "unsupportedfunctionality", "unsupportedoperation", "unsupportedparameter", "unsupportedparams", "unsupportedvalue", "validation"];

export const VAGUE: readonly string[] = ["apierror", "internal", "internalerror", "internalserver", "servererror", "systemerror", "unknownprovider", "upstream", "upstreamunavailable"];

export const PASSING: readonly string[] = ["apierror", "internal", "internalerror", "internalserver", "overloaded", "ratelimit", "ratelimited", "ratelimitexceeded", "requestlimitexceeded", "resourceexhausted", "servererror", "serviceunavailable", "systemerror", "throttled", "throttling", "timeout", "toomanyrequests", "unavailable", "unknownprovider", "upstream", "upstreamunavailable"];

export const LONG_INPUT: readonly string[] = ["maxtokensexceeded", "tokenlimitexceeded", "tokenslimitreached"];

export const CANCELLED: readonly string[] = ["abort", "apiuserabort", "canceled", "cancelled", "keyboardinterrupt", "messageaborted", "requestaborted", "turnaborted", "turninterrupted", "userabort"];

export const BUILTINS: readonly string[] = ["arithmetic", "assertion", "attribute", "blockingio", "buffer", "childprocess", "classcast", "eof", "eval", "fileexists", "filenotfound", "floatingpoint", "illegalargument", "illegalstate", "importerror", "indentation", "indexerror", "indexoutofbounds", "interrupted", "isadirectory", "keyerror", "lookuperror", "memoryerror", "modulenotfound", "nameerror", "notadirectory", "notimplemented", "nullpointer", "oserror", "overflow", "permission", "queueempty", "queuefull", "rangeerror", "recursion", "referenceerror", "runtimeerror", "stopasynciteration", "stopiteration", "syntaxerror", "systemerror", "tab", "typeerror", "unboundlocal", "unicode", "unicodeencode", "unicodetranslate", "uri", "valueerror", "zerodivision"];

export const BUGS: readonly string[] = ["attribute", "classcast", "importerror", "indentation", "indexerror", "indexoutofbounds", "keyerror", "modulenotfound", "nameerror", "notimplemented", "nullpointer", "recursion", "syntaxerror", "typeerror", "unboundlocal", "zerodivision"];

export const TOO_WIDE: readonly string[] = ["api", "auth", "client", "close", "closed", "import", "index", "internal", "key", "lookup", "memory", "name", "net", "object", "os", "parameter", "protocol", "proxy", "range", "read", "reference", "request", "response", "runtime", "server", "socket", "syntax", "system", "transport", "type", "url", "value", "write"];

export const UNITS: Record<string, number> = {
  "ms": 0.001,
  "msec": 0.001,
  "msecs": 0.001,
  "millisecond": 0.001,
  "milliseconds": 0.001,
  "s": 1,
  "sec": 1,
  "secs": 1,
  "second": 1,
  "seconds": 1,
  "m": 60,
  "min": 60,
  "mins": 60,
  "minute": 60,
  "minutes": 60,
  "h": 3600,
  "hr": 3600,
  "hrs": 3600,
  "hour": 3600,
  "hours": 3600,
  "d": 86400,
  "day": 86400,
  "days": 86400,
  "w": 604800,
  "week": 604800,
  "weeks": 604800,
};

export const WAIT_HEADERS: Record<string, number> = {
  "retry-after-ms": 0.001,
  "retry-after": 1,
};

export const WAIT_KEYS: Record<string, number> = {
  "retrydelay": 1,
  "resetsinseconds": 1,
  "resetinseconds": 1,
  "retryafter": 1,
  "retryafterseconds": 1,
  "resetseconds": 1,
  "resetafterseconds": 1,
  "retryafterms": 0.001,
  "quotaresetdelay": 1,
};

export const WAIT_BUCKETS: readonly Buckets[] = [
  [["x-codex-primary-reset-after-seconds", "x-codex-primary-used-percent"], ["x-codex-secondary-reset-after-seconds", "x-codex-secondary-used-percent"]],
  [["x-ratelimit-reset-*", "x-ratelimit-remaining-*"]],
];

export const WAIT_TEXT: RegExp = /\b(?:available again|retrying again|trying again|retry again|replenished|try again|retrying|cooldown|waiting|refills|resets|renews|refill|retry|reset|renew|wait)(?:(?: your request)?(?: (?:in|after|for))?(?: (?:about|approximately|at least))?[ :~]{1,2}((?:\d{1,9}(?:\.\d{1,12})? ?(?:milliseconds|millisecond|seconds|minutes|second|minute|msecs|hours|weeks|msec|secs|mins|hour|days|week|sec|min|hrs|day|ms|hr|s|m|h|d|w)(?:,? and |, | )?){1,5})(?![a-z0-9])|(?: your request)? (?:in|after) ((?:\d{1,4}\.)?\d{1,3}:\d\d:\d\d)|(?: your request)? (?:in|after) (\d{1,9}(?:\.\d{1,12})?)(?![\w:/-]|\.\d| (?:am|pm|times?|more|attempts?|retries)\b))/g;

export const MOMENT_KEYS: readonly string[] = ["resetsat", "resetat", "quotaresettimestamp", "resetatepochms", "xllmerrorresetat"];

export const MOMENT_HEADERS: Buckets = [
  ["x-llm-error-reset-at", ""],
  ["anthropic-ratelimit-unified-reset", ""],
  ["x-codex-secondary-reset-at", "x-codex-secondary-used-percent"],
  ["x-codex-primary-reset-at", "x-codex-primary-used-percent"],
];

export const MOMENT_BUCKETS: Buckets = [
  ["anthropic-ratelimit-*-reset", "anthropic-ratelimit-*-remaining"],
  ["anthropic-priority-ratelimit-*-reset", "anthropic-priority-ratelimit-*-remaining"],
  ["x-ratelimit-reset", "x-ratelimit-remaining"],
];

export const MOMENT_TEXT: RegExp = /(?:limit reached\|(\d{10})\b)/;

export const SECRET_NAMES: readonly string[] = ["accesskey", "accesskeyid", "accesstoken", "anthropicorganizationid", "apikey", "apisecret", "authorization", "authtoken", "awssecretaccesskey", "awssessiontoken", "bearertoken", "clientassertion", "clientsecret", "codeverifier", "connectionstring", "cookie", "cookies", "credential", "credentials", "csrftoken", "devicecode", "dsn", "email", "githubtoken", "idtoken", "ocpapimsubscriptionkey", "openaiorganization", "passphrase", "passwd", "password", "privatekey", "proxyauthorization", "pwd", "refreshtoken", "secret", "secretaccesskey", "secretkey", "secrets", "sessioncookie", "sessiontoken", "setcookie", "sig", "signature", "subscriptionkey", "token", "webhooksecret", "xamzsecuritytoken", "xapikey", "xauthtoken", "xcsrftoken", "xgoogapikey", "xopenaiorganization"];

export const SECRET_ENDINGS: readonly string[] = ["accesskey", "accesstoken", "apikey", "authorization", "authtoken", "clientassertion", "clientsecret", "codeverifier", "devicecode", "password", "privatekey", "refreshtoken", "secret", "secretkey", "securitytoken", "subscriptionkey"];

export const SHAPES: readonly (readonly [RegExp, string])[] = [
  [/\btid=[\w-]{8,}(?:;[\w.-]{1,32}=[^\s;\"'<>\\&]{0,256}){1,48};?/g, "(redacted)"],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))eyJ[\w-]{8,}(?:\.[\w-]*){1,4}/g, "(redacted)"],
  [/(?<=:\/\/)[^\s\/\"'<>]{1,256}@/g, "(redacted)@"],
  [/\b(authorization[\"'\\]{0,4}\s{0,2}[:=,]\s{0,2}[\"'\\]{0,4})(?:(?:bearer|basic|digest|token|negotiate|apikey|aws4-hmac-sha256)\s{1,3})?(?!\()[^\s\"',;}\\]{4,}/gi, "$1(redacted)"],
  [/(?:\b|(?<=%20))(bearer|basic)(\s{1,3}|%20)(?=[\w.~+\/-]{0,40}[0-9=+\/._~]|[A-Za-z]{24})[\w.~+\/=-]{8,}/gi, "$1$2(redacted)"],
  [/\b(cookie[\"'\\]{0,4}\s{0,2}:\s{0,2}[\"'\\]{0,4})(?=[^\s\"']{0,80}=)[^\r\n\"']{4,}/gi, "$1(redacted)"],
  [/(\bcurl\b(?:(?!\bcurl\b)[^|]){0,600}?[\"'\s](?:-[a-zA-Z#]{0,8}?[uU](?:[\"',\s\\]{1,6}|=)?|--(?:proxy-)?user(?:[\"',\s\\]{1,6}|=))[\"'\\]{0,2})(?!\(redacted\))(?:(?<=\")[^\":\r\n\\]{0,128}:[^\"\r\n\\]+|(?<=')[^':\r\n\\]{0,128}:[^'\r\n\\]+|[^\s:\"'\/\\]{0,128}:[^\s\"'\\]+)/g, "$1(redacted)"],
  [/(\b(?:mysql|mariadb|7za?)(?:[-_]?[a-z]{2,12})?\b(?:(?!\b(?:mysql|mariadb|7z))[^|\r\n]){0,400}?[\"'\s][\"']?-p)(?!\(redacted\))(?:\"[^\"\r\n]+\"|'[^'\r\n]+'|[^\s\"'\\,\-][^\s\"'\\,]*)/g, "$1(redacted)"],
  [/(\b(?:(?:sshpass|mongo[a-z]{0,7}|(?:docker|podman|helm\s+registry|az)\s+login|twine\s+upload)\b(?:(?!\b(?:sshpass|mongo|docker|podman|helm))[^|\r\n]){0,200}?[\"'\s]-p|redis-cli\b(?:(?!\bredis-cli)[^|\r\n]){0,200}?\s-a|ldap[a-z]{3,8}\b(?:(?!\bldap)[^|\r\n]){0,200}?\s-w|(?:zip|sqlcmd)\b(?:(?!\b(?:zip|sqlcmd))[^|\r\n]){0,200}?\s-P)[\"',\s]{0,4})(?!\(redacted\))(?:(?<=\")[^\"\r\n]+|(?<=')[^'\r\n]+|[^\s\"'\\,\-][^\s\"',]*)/g, "$1(redacted)"],
  [/(\b(?:login|account)\s{1,8}\S{1,128}\s{1,8}password\s{1,8})(?!\(redacted\))\S{3,}/g, "$1(redacted)"],
  [/(\bConvertTo-SecureString\s{1,2}(?:-String\s{1,2})?[\"'\\]{1,4})(?!\()[^\"'\\\r\n]{3,}/gi, "$1(redacted)"],
  [/(\bname:[ \t]{0,4}[\"']?[A-Z][A-Z0-9_]{0,64}?(?:TOKEN|SECRET|PASSWORD|PASSWD|PASS|PWD|KEY|CREDENTIALS?|CREDS|PAT|AUTH|DSN)(?:_ID)?[\"']?[ \t]{0,4}(?:\r?\n|(?:\\{1,4}r)?\\{1,4}n)[ \t]{0,32}value:[ \t]{0,4}[\"'\\]{0,4})(?!\(redacted\))[^\s\"'\\]{3,}/g, "$1(redacted)"],
  [/((?:\bclient-key-data:\s{0,2}|[\"']auth[\"'\\]{1,4}\s{0,2}:\s{0,2}|(?<!\w)_auth\s{0,2}=\s{0,2})[\"'\\]{0,4})[A-Za-z0-9+\/]{8,}={0,2}/g, "$1(redacted)"],
  [/(%3A%2F%2F)[\w.~+-]{0,128}(?:%3A|:)[^\s&%]{1,128}(?:%(?!40|2F)[^\s&%]{1,128}){0,16}%40/gi, "$1(redacted)%40"],
  [/([\"'][\w-]{0,24}api-?key[\"']\s{0,2}[,:]\s{0,2}(?:\[\s{0,2})?b?[\"'])(?!\()[^\"'\s]{6,}/gi, "$1(redacted)"],
  [/(\bkey=[\"'\\]{1,4}[\w.:-]{0,64}?(?:password|api[-_]?key|secret|token|connectionstring)[\"'\\]{1,4}\s{1,4}value=[\"'\\]{1,4})(?!\()[^\"'\\\r\n]{3,}/gi, "$1(redacted)"],
  [/(\bconfig(?:ure)?\s{1,2}set\s{1,2}[^\s=]{0,128}?(?:_authToken|_password|_auth|access_key|_token|password|api_key)[\s=]{1,2}[\"']?)(?!\(redacted\))[^\s\"']{6,}/gi, "$1(redacted)"],
  [/(?<!nexpected )\b(token[\"'\\]{0,4}\s{0,2}(?::=|[:=]|=>|%3D)\s{0,2}[\"'\\]{0,4})(?!self\.|this\.|[a-z]+_[a-z_]+\()(?=[\w.~+\/=-]{0,64}[\d_.~+\/=-])[\w.~+\/=-]{8,}/gi, "$1(redacted)"],
  [/([\"'\\]{0,4}name[\"'\\]{0,4}\s{0,4}:\s{0,4}[\"'\\]{0,4}(?<=[\"'])[\w.-]{0,64}?(?:token|secret|passw(?:or)?d|passphrase|key|credentials?|creds|pass|pwd|pat|auth|authorization|cookie|dsn)[\"'\\]{0,4}\s{0,4},\s{0,4}[\"'\\]{0,4}value[\"'\\]{0,4}\s{0,4}:\s{0,4}[\"'\\]{0,4}(?<=[\"']))(?!\(redacted\))[^\"'\\\r\n]{3,}/gi, "$1(redacted)"],
  [/(<(?:[\w.-]{0,64}?(?:api[-_ ]?key|access[-_]?token|refresh[-_]?token|id[-_]?token|auth[-_]?token|bearer[-_]?token|session[-_]?token|client[-_]?secret|secret[-_]?access[-_]?key|(?:shared[-_]?)?access[-_]?key(?:[-_]?id)?|account[-_]?key|secret[-_]?key|private[-_]?key|subscription[-_]?key|security[-_]?token|password|passwd|passphrase|secret|connection[-_]?string)|token)(?:\s[^<>]{0,128})?>)(?!\()[^<>]{3,}(?=<\/)/gi, "$1(redacted)"],
  [/\b(hooks\.slack\.com\/(?:services|workflows|triggers)\/)[\w\/-]{8,}/gi, "$1(redacted)"],
  [/\b(discord(?:app)?\.com\/api\/(?:v\d{1,2}\/)?webhooks\/)\d{5,}\/[\w-]{8,}/gi, "$1(redacted)"],
  [/((?:webhook\.office\.com|outlook\.office(?:365)?\.com)\/webhookb?2?\/)[\w@\/.-]{8,}/gi, "$1(redacted)"],
  [/([?&;](?:key|token|sig|signature|auth|code|pwd|pass|session|sid|jwt|x-[a-z]{2,5}-(?:signature|credential|security-token))=)(?!\()[^&\s\"'#<>\\]{3,}/gi, "$1(redacted)"],
  [/\b((?:key|token|sig)=)(?=[\w.~+\/%-]{0,48}\d)[\w.~+\/%=-]{12,}/gi, "$1(redacted)"],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))c?[sprek]k[-_](?!\.)(?=[\w.-]{0,48}\d)[\w-]{8,}|(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))sk-[\w-]{20,}/g, "(redacted)"],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:xox[a-z](?:\.xox[a-z])?|xapp)-[\w-]{8,}/g, "(redacted)"],
  [/[MNO](?:(?<![A-Za-z0-9_-].)|(?<=\\[nrt].)|(?<=%[0-9A-Fa-f]{2}.)|(?<=\[\dm.)|(?<=[\[;]\d\dm.))[A-Za-z0-9_-]{23,27}\.[\w-]{6}\.[\w-]{27,}/g, "(redacted)"],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:org|proj|acct|user|team|workspace)[-_](?=[\w.-]{0,48}\d)[A-Za-z0-9]{10,}/g, "(redacted)"],
  [/(?<![\w.+-])(?!git@[\w.-]+:)[\w.+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,5}[A-Za-z]{2,24}\b/g, "(redacted)"],
  [/(?:(?<![\w.\/])|(?<=file:\/\/))(?:\/(?:var|export|usr|data|nfs|net|mnt|media|host_mnt|Volumes|System\/Volumes\/Data))?(?:\/[A-Za-z])?\/(?:home|Users)\/[^\/\s\"'`:;,)\]}>]{1,64}/g, "~"],
  [/(?:(?<![\w.\/])|(?<=file:\/\/)|(?<=\/var)(?<![\w.]\/var))(?:\/var)?\/root(?=\/)/g, "~"],
  [/\b[A-Za-z]:(?:\\{1,4}|\/)Users(?:\\{1,4}|\/)[^\\\/\s\"':;,)]{1,64}/gi, "~"],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:AIza|ya29\.|GOCSPX-|1\/\/0)[\w-]{16,}/g, "(redacted)"],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:AKIA|ASIA|AROA|AIDA|ABIA|ACCA)[A-Z0-9]{12,}\b/g, "(redacted)"],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))AGE-SECRET-KEY-1[A-Z0-9]{20,}/g, "(redacted)"],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:gh[opsur]_[A-Za-z0-9]|github_pat_\w)\w{11,}/g, "(redacted)"],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))gl(?:pat|dt|rt|cbt|ptt|oas|soat|ft|agent|imt|ffct)-[\w.-]{12,}/g, "(redacted)"],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:(?:hf|gsk|r8|npm|fw|tgp_v1|shpat|sntrys|lin_api|ntn|whsec|jina|api_org|secret)_|(?:xai|nvapi|pplx|pypi|tvly|bedrock-api-key|key|pa|fal|fc)-|ABSK|dapi)(?:(?=[\w.-]{0,48}\d)(?=[\w-]{0,24}?(?=[A-Za-z]*\d)[A-Za-z0-9]{12})[\w-]{20,}|[A-Za-z0-9]{24,}[\w-]*)/g, "(redacted)"],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))SG\.[\w-]{16,}\.[\w-]{16,}/g, "(redacted)"],
  [/(\b[\w.-]{0,64}?(?:api[-_ ]?key|access[-_]?token|refresh[-_]?token|id[-_]?token|auth[-_]?token|bearer[-_]?token|session[-_]?token|client[-_]?secret|secret[-_]?access[-_]?key|(?:shared[-_]?)?access[-_]?key(?:[-_]?id)?|account[-_]?key|secret[-_]?key|private[-_]?key|subscription[-_]?key|security[-_]?token|password|passwd|passphrase|secret|connection[-_]?string)[\"'\\]{0,4}\s{0,2}(?::=|[:=]|=>|%3D)\s{0,2}[\"'\\]{0,4})(?!\(redacted\))(?!\$|process\.env)[^\s\"'\\,;&}<>()]{6,}/gi, "$1(redacted)"],
  [/(\b[A-Z][A-Z0-9_]{0,64}?(?:TOKEN|SECRET|PASSWORD|PASSWD|PASS|PWD|KEY|CREDENTIALS?|CREDS|PAT|AUTH|DSN)(?:_ID)?[\"']?\s?=\s?[\"']?)(?!\(redacted\))(?!\$|true|false|null|\d{1,6}\b)[^\s\"'\\,;&}<>]{4,}/g, "$1(redacted)"],
];
