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

export const SHAPES: readonly (readonly [RegExp, string, readonly string[]])[] = [
  [/-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:(?:[^-]|-(?!----)){0,8192}?-----END [A-Z0-9 ]{0,40}-----|[A-Za-z0-9+\/=\s\\:,.()]*)/g, "(redacted)", ["private"]],
  [/(?:(?<![\w+\/=\\])|(?<=\\[nrt]))(?:(?:[A-Za-z0-9+\/=]{16,8192}(?:\s|\\{1,8}[nrt]){1,64}){1,2048}(?:[A-Za-z0-9+\/=]{1,8192}(?:\s|\\{1,8}[nrt]){0,64}){0,2}|[A-Za-z0-9+\/=]{16,8192}|[A-Za-z0-9+\/]{1,80}={1,2}(?:\s|\\{1,8}[nrt]){0,64})?-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/g, "(redacted)", ["-----end"]],
  [/\btid=[\w-]{8,}(?:;[\w.-]{1,32}=[^\s;\"'<>\\&]{0,256}){1,48};?/g, "(redacted)", ["tid="]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))eyJ[\w-]{8,}(?:\.[\w-]*){1,4}/g, "(redacted)", ["eyj"]],
  [/(?<=:\/\/)[^\s\/\"'<>]{1,256}@/g, "(redacted)@", ["://"]],
  [/\b(authorization[\"'\\]{1,4}\s{0,2}[:=,]\s{0,2}[\"'\\]{1,4})(?!\()(?:(?<=\\\")(?!\s)(?:[^\"\\\r\n]|\\(?![\"\\])){4,}|(?<!\\\")(?<=\")(?!\s)(?:[^\"\\\r\n]|\\[^\r\n]){4,}|(?<=')(?!\s)(?:[^'\\\r\n]|\\[^\r\n]){4,}|[^\"'\\\r\n]{4,})/gi, "$1(redacted)", ["authorization"]],
  [/\b(authorization[\"'\\]{0,4}\s{0,2}[:=,]\s{0,2}[\"'\\]{0,4})(?:(?:bearer|basic|digest|token|negotiate|apikey|aws4-hmac-sha256)\s{1,3})?(?!\()[^\s\"',;}\\]{4,}/gi, "$1(redacted)", ["authorization"]],
  [/(?:\b|(?<=%20))(bearer|basic)(\s{1,3}|%20)(?=[\w.~+\/-]{0,40}[0-9=+\/._~]|[A-Za-z]{24})[\w.~+\/=-]{8,}/gi, "$1$2(redacted)", ["bearer", "basic"]],
  [/\b(cookie[\"'\\]{0,4}\s{0,2}:\s{0,2}[\"'\\]{0,4})(?=[^\s\"']{0,80}=)[^\r\n\"']{4,}/gi, "$1(redacted)", ["cookie"]],
  [/(?<![\w-])(--?(?:[a-zA-Z]{1,16}[-_]){0,3}(?:[a-zA-Z]{1,24}(?=(?:[A-Z])))?(?:[Aa][Pp][Ii][-_]?[Kk][Ee][Yy]|[Kk][Ee][Yy]|[Tt][Oo][Kk][Ee][Nn]|[Ss][Ee][Cc][Rr][Ee][Tt]|[Aa][Uu][Tt][Hh]|[Pp][Aa][Tt]|[Cc][Rr][Ee][Dd][Ee][Nn][Tt][Ii][Aa][Ll][Ss]?|[Cc][Rr][Ee][Dd][Ss])[\"']?[= ,]{1,2}[\"']?)(?![-(])[^\s\"',]{6,}/g, "$1(redacted)", ["key", "token", "secret", "auth", "-pat", "cred"]],
  [/(?<![\w-])(--(?:[a-z]{1,16}-){0,3}(?:password|passwd|passphrase|pass|pwd)(?:[\"',\s\\]{1,6}|=)[\"']?)(?![-(])(?:(?<=\\\")(?!\s)(?:[^\"\\\r\n]|\\(?![\"\\])){3,}|(?<!\\\")(?<=\")(?!\s)(?:[^\"\\\r\n]|\\[^\r\n]){3,}|(?<=')(?!\s)(?:[^'\\\r\n]|\\[^\r\n]){3,}|[^\s\"',]{3,})/gi, "$1(redacted)", ["-pass", "-pwd"]],
  [/(\bcurl\b(?:(?!\bcurl\b)[^|]){0,600}?[\"'\s](?:-[a-zA-Z#]{0,8}?[uU](?:[\"',\s\\]{1,6}|=)?|--(?:proxy-)?user(?:[\"',\s\\]{1,6}|=))[\"'\\]{0,2})(?!\(redacted\))(?:(?<=\")[^\":\r\n\\]{0,128}:[^\"\r\n\\]+|(?<=')[^':\r\n\\]{0,128}:[^'\r\n\\]+|[^\s:\"'\/\\]{0,128}:[^\s\"'\\]+)/g, "$1(redacted)", ["curl"]],
  [/(\b(?:mysql|mariadb|7za?)(?:[-_]?[a-z]{2,12})?\b(?:(?!\b(?:mysql|mariadb|7z))[^|\r\n]){0,400}?[\"'\s][\"']?-p)(?!\(redacted\))(?:\"[^\"\r\n]+\"|'[^'\r\n]+'|[^\s\"'\\,\-][^\s\"'\\,]*)/g, "$1(redacted)", ["mysql", "mariadb", "7z"]],
  [/(\b(?:(?:sshpass|mongo[a-z]{0,7}|(?:docker|podman|helm\s+registry|az)\s+login|twine\s+upload)\b(?:(?!\b(?:sshpass|mongo|docker|podman|helm))[^|\r\n]){0,200}?[\"'\s]-p|redis-cli\b(?:(?!\bredis-cli)[^|\r\n]){0,200}?\s-a|ldap[a-z]{3,8}\b(?:(?!\bldap)[^|\r\n]){0,200}?\s-w|(?:zip|sqlcmd)\b(?:(?!\b(?:zip|sqlcmd))[^|\r\n]){0,200}?\s-P)[\"',\s]{0,4})(?!\(redacted\))(?:(?<=\")[^\"\r\n]+|(?<=')[^'\r\n]+|[^\s\"'\\,\-][^\s\"',]*)/g, "$1(redacted)", ["sshpass", "mongo", "login", "twine", "redis-cli", "ldap", "zip", "sqlcmd"]],
  [/(\b(?:login|account)\s{1,8}\S{1,128}\s{1,8}password\s{1,8})(?!\(redacted\))\S{3,}/g, "$1(redacted)", ["password"]],
  [/((?<![\w-])(?:[Ee][Nn][Vv]|[Ss][Ee][Tt][Xx]|[Ss][Ee][Tt](?:\s{1,2}-[a-zA-Z-]{1,12}){1,3}|[Ss][Ee][Tt][Ee][Nn][Vv]|[Ss][Ee][Tt]-[Ii][Tt][Ee][Mm]\s{1,2}(?:-[Pp][Aa][Tt][Hh]\s{1,2})?[Ee][Nn][Vv]:|[Ss][Ee][Tt][Ee][Nn][Vv][Ii][Rr][Oo][Nn][Mm][Ee][Nn][Tt][Vv][Aa][Rr][Ii][Aa][Bb][Ll][Ee]\()\s{0,4}[\"'\\]{0,4}[A-Z][A-Z0-9_]{0,64}?(?:TOKEN|SECRET|PASSWORD|PASSWD|PASS|PWD|KEY|CREDENTIALS?|CREDS|PAT|AUTH|DSN)(?:_ID)?[\"'\\]{0,4}(?:\s{1,4}|,\s{0,2})(?:-Value\s{1,2})?[\"'\\]{0,4})(?!\(redacted\))(?![\/~$=-])[^\s\"',\\]{4,}/g, "$1(redacted)", ["env", "setx", "set"]],
  [/(\bConvertTo-SecureString\s{1,2}(?:-String\s{1,2})?[\"'\\]{1,4})(?!\()[^\"'\\\r\n]{3,}/gi, "$1(redacted)", ["securestring"]],
  [/(\bname:[ \t]{0,4}[\"']?[A-Z][A-Z0-9_]{0,64}?(?:TOKEN|SECRET|PASSWORD|PASSWD|PASS|PWD|KEY|CREDENTIALS?|CREDS|PAT|AUTH|DSN)(?:_ID)?[\"']?[ \t]{0,4}(?:\r?\n|(?:\\{1,4}r)?\\{1,4}n)[ \t]{0,32}value:[ \t]{0,4}[\"'\\]{0,4})(?!\(redacted\))[^\s\"'\\]{3,}/g, "$1(redacted)", ["value:"]],
  [/((?:\bclient-key-data:\s{0,2}|[\"']auth[\"'\\]{1,4}\s{0,2}:\s{0,2}|(?<!\w)_auth\s{0,2}=\s{0,2})[\"'\\]{0,4})[A-Za-z0-9+\/]{8,}={0,2}/g, "$1(redacted)", ["client-key-data", "auth"]],
  [/(%3A%2F%2F)[\w.~+-]{0,128}(?:%3A|:)[^\s&%]{1,128}(?:%(?!40|2F)[^\s&%]{1,128}){0,16}%40/gi, "$1(redacted)%40", ["%3a%2f%2f"]],
  [/([\"'][\w-]{0,24}api-?key[\"']\s{0,2}[,:]\s{0,2}(?:\[\s{0,2})?b?[\"'])(?!\()[^\"'\s]{6,}/gi, "$1(redacted)", ["api-key", "apikey"]],
  [/(\bkey=[\"'\\]{1,4}[\w.:-]{0,64}?(?:password|api[-_]?key|secret|token|connectionstring)[\"'\\]{1,4}\s{1,4}value=[\"'\\]{1,4})(?!\()[^\"'\\\r\n]{3,}/gi, "$1(redacted)", ["value="]],
  [/(\bconfig(?:ure)?\s{1,2}set\s{1,2}[^\s=]{0,128}?(?:_authToken|_password|_auth|access_key|_token|password|api_key)[\s=]{1,2}[\"']?)(?!\(redacted\))[^\s\"']{6,}/gi, "$1(redacted)", ["config"]],
  [/\b((?:[Aa][Pp][Ii][ _-]?[Kk][Ee][Yy]|[Aa][Cc][Cc][Ee][Ss][Ss] [Kk][Ee][Yy]|[Tt][Oo][Kk][Ee][Nn]|[Pp][Aa][Ss][Ss][Ww][Oo][Rr][Dd]|[Ss][Ee][Cc][Rr][Ee][Tt])(?: (?:provided|is|was))?:? ?[\"'`]?)(?<=[ \"'`])(?=[A-Za-z~+=-]{0,64}\d)(?=[a-z\d~+=-]{0,64}[A-Z])(?=[A-Z\d~+=-]{0,64}[a-z])[\w~+=-]{12,}(?!\w|[.\/(]\w)/g, "$1(redacted)", ["key", "token", "password", "secret"]],
  [/(?<!nexpected )\b(token[\"'\\]{0,4}\s{0,2}(?::=|[:=]|=>|%3D)\s{0,2}[\"'\\]{0,4})(?!self\.|this\.|[a-z]+_[a-z_]+\()(?=[\w.~+\/=-]{0,64}[\d_.~+\/=-])[\w.~+\/=-]{8,}/gi, "$1(redacted)", ["token"]],
  [/([\"'\\]{0,4}name[\"'\\]{0,4}\s{0,4}:\s{0,4}[\"'\\]{0,4}(?<=[\"'])[\w.-]{0,64}?(?:token|secret|passw(?:or)?d|passphrase|key|credentials?|creds|pass|pwd|pat|auth|authorization|cookie|dsn)[\"'\\]{0,4}\s{0,4},\s{0,4}[\"'\\]{0,4}value[\"'\\]{0,4}\s{0,4}:\s{0,4}[\"'\\]{0,4}(?<=[\"']))(?!\(redacted\))[^\"'\\\r\n]{3,}/gi, "$1(redacted)", ["value"]],
  [/(<(?:[\w.-]{0,64}?(?:api[-_ ]?key|access[-_]?token|refresh[-_]?token|id[-_]?token|auth[-_]?token|bearer[-_]?token|session[-_]?token|client[-_]?secret|secret[-_]?access[-_]?key|(?:shared[-_]?)?access[-_]?key(?:[-_]?id)?|account[-_]?key|secret[-_]?key|private[-_]?key|subscription[-_]?key|security[-_]?token|password|passwd|passphrase|secret|connection[-_]?string)|token)(?:\s[^<>]{0,128})?>)(?!\()[^<>]{3,}(?=<\/)/gi, "$1(redacted)", ["</"]],
  [/\b(hooks\.slack\.com\/(?:services|workflows|triggers)\/)[\w\/-]{8,}/gi, "$1(redacted)", ["hooks.slack.com"]],
  [/\b(discord(?:app)?\.com\/api\/(?:v\d{1,2}\/)?webhooks\/)\d{5,}\/[\w-]{8,}/gi, "$1(redacted)", ["/webhooks/"]],
  [/((?:webhook\.office\.com|outlook\.office(?:365)?\.com)\/webhookb?2?\/)[\w@\/.-]{8,}/gi, "$1(redacted)", ["webhook.office.com", "webhookb2/"]],
  [/([?&;](?:key|token|sig|signature|auth|code|pwd|pass|session|sid|jwt|x-[a-z]{2,5}-(?:signature|credential|security-token))=)(?!\()[^&\s\"'#<>\\]{3,}/gi, "$1(redacted)", ["="]],
  [/\b((?:key|token|sig)=)(?=[\w.~+\/%-]{0,48}\d)[\w.~+\/%=-]{12,}/gi, "$1(redacted)", ["key=", "token=", "sig="]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))c?[sprek]k[-_](?!\.)(?=[\w.-]{0,48}\d)[\w-]{8,}|(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))sk-[\w-]{20,}/g, "(redacted)", ["sk-", "pk-", "rk-", "ek-", "sk_", "pk_", "rk_"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:xox[a-z](?:\.xox[a-z])?|xapp)-[\w-]{8,}/g, "(redacted)", ["xox", "xapp"]],
  [/(?:(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))|(?<=(?:[Bb][Oo][Tt])))\d{8,10}(?::|%3[Aa])AA[\w-]{30,}/g, "(redacted)", [":aa", "%3aaa"]],
  [/[MNO](?:(?<![A-Za-z0-9_-].)|(?<=\\[nrt].)|(?<=%[0-9A-Fa-f]{2}.)|(?<=\[\dm.)|(?<=[\[;]\d\dm.))[A-Za-z0-9_-]{23,27}\.[\w-]{6}\.[\w-]{27,}/g, "(redacted)", ["."]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:org|proj|acct|user|team|workspace)[-_](?=[\w.-]{0,48}\d)[A-Za-z0-9]{10,}/g, "(redacted)", ["org-", "org_", "proj", "acct", "user-", "user_", "team-", "team_", "workspace"]],
  [/(?<![\w.+-])(?!git@[\w.-]+:)[\w.+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,5}[A-Za-z]{2,24}\b/g, "(redacted)", ["@"]],
  [/(?:(?<![\w.\/])|(?<=file:\/\/))(?:\/(?:var|export|usr|data|nfs|net|mnt|media|host_mnt|Volumes|System\/Volumes\/Data))?(?:\/[A-Za-z])?\/(?:home|Users)\/[^\/\s\"'`:;,)\]}>]{1,64}/g, "~", ["/home/", "/users/"]],
  [/(?:(?<![\w.\/])|(?<=file:\/\/)|(?<=\/var)(?<![\w.]\/var))(?:\/var)?\/root(?=\/)/g, "~", ["/root"]],
  [/\b[A-Za-z]:(?:\\{1,4}|\/)Users(?:\\{1,4}|\/)[^\\\/\s\"':;,)]{1,64}/gi, "~", ["users"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:AIza|ya29\.|GOCSPX-|1\/\/0)[\w-]{16,}/g, "(redacted)", ["aiza", "ya29", "gocspx", "1//0"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:AKIA|ASIA|AROA|AIDA|ABIA|ACCA)[A-Z0-9]{12,}\b/g, "(redacted)", ["akia", "asia", "aroa", "aida", "abia", "acca"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))AGE-SECRET-KEY-1[A-Z0-9]{20,}/g, "(redacted)", ["age-secret-key-"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:gh[opsur]_[A-Za-z0-9]|github_pat_\w)\w{11,}/g, "(redacted)", ["gh", "github_pat_"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))gl(?:pat|dt|rt|cbt|ptt|oas|soat|ft|agent|imt|ffct)-[\w.-]{12,}/g, "(redacted)", ["gl"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:(?:hf|gsk|r8|npm|fw|tgp_v1|shpat|sntrys|lin_api|ntn|whsec|jina|api_org|secret)_|(?:xai|nvapi|pplx|pypi|tvly|bedrock-api-key|key|pa|fal|fc)-|ABSK|dapi)(?:(?=[\w.-]{0,48}\d)(?=[\w-]{0,24}?(?=[A-Za-z]*\d)[A-Za-z0-9]{12})[\w-]{20,}|[A-Za-z0-9]{24,}[\w-]*)/g, "(redacted)", ["hf_", "gsk_", "r8_", "npm_", "xai-", "nvapi-", "pplx-", "fw_", "tgp_v1_", "shpat_", "sntrys_", "lin_api_", "dapi", "ntn_", "whsec_", "pypi-", "jina_", "tvly-", "absk", "bedrock-api-key-", "key-", "pa-", "api_org_", "fal-", "fc-"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))SG\.[\w-]{16,}\.[\w-]{16,}/g, "(redacted)", ["sg."]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:2\/\d{16}\/\d{16}:[a-f0-9]{32})[\w~-]*=*/g, "(redacted)", ["2/"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:AKID[A-Za-z0-9]{26,})[\w~-]*=*/g, "(redacted)", ["akid"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:AQ\.Ab[\w-]{30,})[\w~-]*=*/g, "(redacted)", ["aq."]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:a[ks]-(?=[A-Za-z]{0,21}\d)(?=[a-z0-9]{0,21}[A-Z])[A-Za-z0-9]{22}(?!\w))[\w~-]*=*/g, "(redacted)", ["as-", "ak-"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:AT(?:CTT3[\w=-]{40,}|BB[A-Za-z0-9]{28,}))[\w~-]*=*/g, "(redacted)", ["atctt3", "atbb"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:bk(?:ua|at|ct|pt|aj)_[a-f0-9]{32,})[\w~-]*=*/g, "(redacted)", ["bkua_", "bkat_", "bkct_", "bkpt_", "bkaj_"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:CCI(?:PAT|PRJ)_[A-Za-z0-9]{16,}_[a-f0-9]{32,})[\w~-]*=*/g, "(redacted)", ["ccipat_", "cciprj_"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:CFPAT-[\w-]{30,})[\w~-]*=*/g, "(redacted)", ["cfpat-"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:cio[A-Za-z0-9]{32})[\w~-]*=*/g, "(redacted)", ["cio"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:csk-[a-z0-9]{32,})[\w~-]*=*/g, "(redacted)", ["csk-"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:ctx7sk-[\w-]{20,})[\w~-]*=*/g, "(redacted)", ["ctx7sk-"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:dckr_(?:pat|oat)_[\w-]{20,})[\w~-]*=*/g, "(redacted)", ["dckr_pat_", "dckr_oat_"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:depot_(?:org|project|user)_[a-f0-9]{32,})[\w~-]*=*/g, "(redacted)", ["depot_"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:dp\.(?:st|ct|sa|scim|audit)\.[\w.-]{32,})[\w~-]*=*/g, "(redacted)", ["dp."]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:e2b_[a-f0-9]{32,})[\w~-]*=*/g, "(redacted)", ["e2b_"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:essu_[\w+\/-]{30,})[\w~-]*=*/g, "(redacted)", ["essu_"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:fig(?:d|o|u|r|dr|oh)_[\w-]{20,})[\w~-]*=*/g, "(redacted)", ["figd_", "figo_", "figu_", "figr_", "figdr_", "figoh_"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:flp_[A-Za-z0-9]{30,})[\w~-]*=*/g, "(redacted)", ["flp_"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:hvr\.[\w-]{20,})[\w~-]*=*/g, "(redacted)", ["hvr."]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:lin_oauth_[a-f0-9]{32,})[\w~-]*=*/g, "(redacted)", ["lin_oauth_"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:llx-[A-Za-z0-9]{20,})[\w~-]*=*/g, "(redacted)", ["llx-"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:ls__[a-f0-9]{32})[\w~-]*=*/g, "(redacted)", ["ls__"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:lsv2_(?:pt|sk)_[A-Za-z0-9_]{24,})[\w~-]*=*/g, "(redacted)", ["lsv2_"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:napi_[A-Za-z0-9]{40,})[\w~-]*=*/g, "(redacted)", ["napi_"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:nf[pcoub]_[A-Za-z0-9]{24,})[\w~-]*=*/g, "(redacted)", ["nfp_", "nfc_", "nfo_", "nfu_", "nfb_"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:[a-f0-9]{32,40}(?:FFFF)?NRAL)[\w~-]*=*/g, "(redacted)", ["nral"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:pat[A-Za-z0-9]{14}\.[a-f0-9]{32,})[\w~-]*=*/g, "(redacted)", ["pat"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:pat-[a-z]{2,4}\d-[a-f0-9]{8}-(?:[a-f0-9]{4}-){3}[a-f0-9]{12})[\w~-]*=*/g, "(redacted)", ["pat-"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:pcsk_[A-Za-z0-9_]{24,})[\w~-]*=*/g, "(redacted)", ["pcsk_"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:ph[cx]_[A-Za-z0-9]{32,})[\w~-]*=*/g, "(redacted)", ["phc_", "phx_"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:re_(?=[A-Za-z_]{0,32}\d)(?=[a-z0-9_]{0,32}[A-Z])[A-Za-z0-9]{8}_[A-Za-z0-9]{24})[\w~-]*=*/g, "(redacted)", ["re_"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:rnd_[A-Za-z0-9]{28,})[\w~-]*=*/g, "(redacted)", ["rnd_"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:s\.(?=[A-Za-z]{0,23}\d)(?=[A-Za-z0-9]{0,23}[A-Z])[A-Za-z0-9]{24}(?![\w.(]))[\w~-]*=*/g, "(redacted)", ["s."]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:sb(?:p|_secret)_[\w-]{20,})[\w~-]*=*/g, "(redacted)", ["sbp_", "sb_secret_"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:secret_(?=[A-Za-z0-9]{0,42}\d)(?=[A-Za-z0-9]{0,42}[A-Z])[A-Za-z0-9]{43})[\w~-]*=*/g, "(redacted)", ["secret_"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:(?:sgp|slk|sgd)_[\w-]{32,})[\w~-]*=*/g, "(redacted)", ["sgp_", "slk_", "sgd_"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:sl\.(?:[uB]\.?)?(?=[\w-]{0,60}\d)[\w-]{60,})[\w~-]*=*/g, "(redacted)", ["sl."]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:snyk_[a-z]{2,4}\.[\w-]{8}\.[\w.-]{40,})[\w~-]*=*/g, "(redacted)", ["snyk_"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:sq0(?:at|cs)p-[\w-]{20,})[\w~-]*=*/g, "(redacted)", ["sq0atp-", "sq0csp-"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:st\.[a-f0-9-]{24,36}\.[a-f0-9]{32}\.[a-f0-9]{32})[\w~-]*=*/g, "(redacted)", ["st."]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:tskey-[a-z]+-[\w-]{16,})[\w~-]*=*/g, "(redacted)", ["tskey-"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:vc[kpiar]_[A-Za-z0-9]{24,})[\w~-]*=*/g, "(redacted)", ["vck_", "vcp_", "vci_", "vca_", "vcr_"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:wandb_v1_[\w-]{32,})[\w~-]*=*/g, "(redacted)", ["wandb_v1_"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:(?:sc|ext|scauth|authress)_(?:[a-zA-Z0-9]{5,30}\.[a-zA-Z0-9]{4,6}\.[Aa][Cc][Cc][_-][a-zA-Z0-9-]{10,32}\.[a-zA-Z0-9+\/_=-]{20,}))[\w~-]*=*/g, "(redacted)", [".acc"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:(?:[a-zA-Z0-9]{14}\.[Aa][Tt][Ll][Aa][Ss][Vv]1\.[a-zA-Z0-9\-_=]{20,}))[\w~-]*=*/g, "(redacted)", [".atlasv1."]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:4b1d[A-Za-z0-9]{20,})[\w~-]*=*/g, "(redacted)", ["4b1d"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:_gitlab_session=[0-9a-z]{20,})[\w~-]*=*/g, "(redacted)", ["_gitlab_session="]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk)[\w~-]*=*/g, "(redacted)", ["_mmk"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:A3-[A-Z0-9]{6}-(?:(?:[A-Z0-9]{11})|(?:[A-Z0-9]{6}-[A-Z0-9]{5}))-[A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5})[\w~-]*=*/g, "(redacted)", ["a3-"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:(?:A3T[A-Z0-9]|AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16})[\w~-]*=*/g, "(redacted)", ["a3t", "abia", "acca", "akia", "asia"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:ABSK[A-Za-z0-9+\/]{20,}={0,2})[\w~-]*=*/g, "(redacted)", ["absk"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:(?:[Aa][Cc][Cc][Ee][Ss][Ss]-(?:[Ss][Aa][Nn][Dd][Bb][Oo][Xx]|[Dd][Ee][Vv][Ee][Ll][Oo][Pp][Mm][Ee][Nn][Tt]|[Pp][Rr][Oo][Dd][Uu][Cc][Tt][Ii][Oo][Nn])-[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12,}))[\w~-]*=*/g, "(redacted)", ["access-"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:AKCp[A-Za-z0-9]{20,})[\w~-]*=*/g, "(redacted)", ["akcp"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:API-[A-Z0-9]{20,})[\w~-]*=*/g, "(redacted)", ["api-"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:api_org_(?:[a-zA-Z]{20,}))[\w~-]*=*/g, "(redacted)", ["api_org_"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:(?:[Aa][Qq][Vv][Nn][aA-zZa-zA-Z0-9_\-]{20,}))[\w~-]*=*/g, "(redacted)", ["aqvn"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:ATATT3[A-Za-z0-9_\-=]{20,})[\w~-]*=*/g, "(redacted)", ["atatt3"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:(?:[Cc][Ll][Oo][Jj][Aa][Rr][Ss]_[a-zA-Z0-9]{20,}))[\w~-]*=*/g, "(redacted)", ["clojars_"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:cmVmd[A-Za-z0-9]{20,})[\w~-]*=*/g, "(redacted)", ["cmvmd"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:(?:[Dd][Nn][Kk][Ee][Yy]-[a-zA-Z0-9=_\-]{26}-[a-zA-Z0-9=_\-]{20,}))[\w~-]*=*/g, "(redacted)", ["dnkey-"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:doo_v1_[a-f0-9]{20,})[\w~-]*=*/g, "(redacted)", ["doo_v1_"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:dop_v1_[a-f0-9]{20,})[\w~-]*=*/g, "(redacted)", ["dop_v1_"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:(?:(?:[Dd][Oo][Rr]_[Vv]1_[a-fA-F0-9]{20,})))[\w~-]*=*/g, "(redacted)", ["dor_v1_"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:dp\.pt\.(?:[a-zA-Z0-9]{20,}))[\w~-]*=*/g, "(redacted)", ["dp.pt."]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:dt0c01\.(?:[a-zA-Z0-9]{24}\.[a-zA-Z0-9]{20,}))[\w~-]*=*/g, "(redacted)", ["dt0c01."]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:duffel_(?:test|live)_(?:[a-zA-Z0-9_\-=]{20,}))[\w~-]*=*/g, "(redacted)", ["duffel_"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:EAA[MC](?:[a-zA-Z0-9]{100,}))[\w~-]*=*/g, "(redacted)", ["eaa"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:(?:(?:[Ee][Yy][Jj][Rr][Ii][Jj][Oo][Ii][aA-zZa-zA-Z0-9]{20,}={0,3})))[\w~-]*=*/g, "(redacted)", ["eyjrijoi"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:EZAK(?:[a-zA-Z0-9]{20,}))[\w~-]*=*/g, "(redacted)", ["ezak"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:EZTK(?:[a-zA-Z0-9]{20,}))[\w~-]*=*/g, "(redacted)", ["eztk"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:fio-u-(?:[a-zA-Z0-9\-_=]{20,}))[\w~-]*=*/g, "(redacted)", ["fio-u-"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:FLWPUBK_TEST-(?:[a-hA-H0-9]{32}-[Xx]))[\w~-]*=*/g, "(redacted)", ["flwpubk_test-"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:FLWSECK_TEST-(?:[a-hA-H0-9]{12,}))[\w~-]*=*/g, "(redacted)", ["flwseck_test-"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:FLWSECK_TEST-(?:[a-hA-H0-9]{32}-[Xx]))[\w~-]*=*/g, "(redacted)", ["flwseck_test-"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:fo1_[\w-]{20,}|fm1[ar]_[a-zA-Z0-9+\/]{100,}={0,3}|fm2_[a-zA-Z0-9+\/]{20,}={0,3})[\w~-]*=*/g, "(redacted)", ["fm1", "fm2_", "fo1_"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:(?:(?:[Gg][Ll][Cc]_[aA-zZa-zA-Z0-9+\/]{20,}={0,3})))[\w~-]*=*/g, "(redacted)", ["glc_"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:(?:(?:[Gg][Ll][Ss][Aa]_[aA-zZa-zA-Z0-9]{32}_[aA-fFa-fA-F0-9]{8})))[\w~-]*=*/g, "(redacted)", ["glsa_"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:GR1348941[\w-]{20,})[\w~-]*=*/g, "(redacted)", ["gr1348941"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:HRKU-AA[0-9a-zA-Z_-]{20,})[\w~-]*=*/g, "(redacted)", ["hrku-aa"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:hvb\.[\w-]{20,})[\w~-]*=*/g, "(redacted)", ["hvb."]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:hvs\.[\w-]{20,})[\w~-]*=*/g, "(redacted)", ["hvs."]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:ico-[a-zA-Z0-9]{20,})[\w~-]*=*/g, "(redacted)", ["ico-"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:LTAI(?:[a-zA-Z0-9]{20,}))[\w~-]*=*/g, "(redacted)", ["ltai"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:(?:[Nn][Rr][Aa][Kk]-[a-zA-Z0-9]{20,}))[\w~-]*=*/g, "(redacted)", ["nrak-"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:(?:[Nn][Rr][Ii][Ii]-[a-zA-Z0-9-]{20,}))[\w~-]*=*/g, "(redacted)", ["nrii-"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:(?:[Nn][Rr][Jj][Ss]-[a-fA-F0-9]{19,}))[\w~-]*=*/g, "(redacted)", ["nrjs-"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:ops_eyJ[a-zA-Z0-9+\/]{20,}={0,3})[\w~-]*=*/g, "(redacted)", ["ops_eyj"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:p8e-(?:[a-zA-Z0-9]{20,}))[\w~-]*=*/g, "(redacted)", ["p8e-"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:pat[A-Za-z0-9]{14}\.[a-f0-9]{64})[\w~-]*=*/g, "(redacted)", ["pat"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:(?:pat|sat)\.[a-zA-Z0-9_-]{22}\.[a-zA-Z0-9]{24}\.[a-zA-Z0-9]{20})[\w~-]*=*/g, "(redacted)", ["pat", "sat"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:PMAK-(?:[a-fA-F0-9]{24}\-[a-fA-F0-9]{20,}))[\w~-]*=*/g, "(redacted)", ["pmak-"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:pnu_[a-zA-Z0-9]{20,})[\w~-]*=*/g, "(redacted)", ["pnu_"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:pplx-[a-zA-Z0-9]{20,})[\w~-]*=*/g, "(redacted)", ["pplx-"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:pscale_oauth_[\w=\.-]{20,})[\w~-]*=*/g, "(redacted)", ["pscale_oauth_"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:(?:(?:[Pp][Ss][Cc][Aa][Ll][Ee]_[Pp][Ww]_(?:[\w=\.-]{20,}))))[\w~-]*=*/g, "(redacted)", ["pscale_pw_"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:pscale_tkn_(?:[\w=\.-]{20,}))[\w~-]*=*/g, "(redacted)", ["pscale_tkn_"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:(?:[Pp][Uu][Bb][Kk][Ee][Yy]-[a-fA-F0-9]{20,}))[\w~-]*=*/g, "(redacted)", ["pubkey-"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:pul-[a-f0-9]{20,})[\w~-]*=*/g, "(redacted)", ["pul-"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:[a-zA-Z0-9_~.]{3}\dQ~[a-zA-Z0-9_~.-]{31,34})[\w~-]*=*/g, "(redacted)", ["q~"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:rdme_[a-z0-9]{20,})[\w~-]*=*/g, "(redacted)", ["rdme_"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:(?:sk|rk)_(?:test|live|prod)_[a-zA-Z0-9]{10,99})[\w~-]*=*/g, "(redacted)", ["rk_live", "rk_prod", "rk_test", "sk_live", "sk_prod", "sk_test"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:rubygems_[a-f0-9]{20,})[\w~-]*=*/g, "(redacted)", ["rubygems_"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:s-s4t2(?:ud|af)-(?:[aAbBcCdDeEfF0123456789]{20,}))[\w~-]*=*/g, "(redacted)", ["s-s4t2"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:SG\.(?:[a-zA-Z0-9=_\-\.]{66}))[\w~-]*=*/g, "(redacted)", ["sg."]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:sha256~[\w-]{20,})[\w~-]*=*/g, "(redacted)", ["sha256~"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:shippo_(?:live|test)_[a-fA-F0-9]{20,})[\w~-]*=*/g, "(redacted)", ["shippo_"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:shpca_[a-fA-F0-9]{20,})[\w~-]*=*/g, "(redacted)", ["shpca_"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:shppa_[a-fA-F0-9]{20,})[\w~-]*=*/g, "(redacted)", ["shppa_"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:shpss_[a-fA-F0-9]{20,})[\w~-]*=*/g, "(redacted)", ["shpss_"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:SK[0-9a-fA-F]{32})[\w~-]*=*/g, "(redacted)", ["sk"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:sm_aat_[a-zA-Z0-9]{16,})[\w~-]*=*/g, "(redacted)", ["sm_aat_"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:sm_pat_[a-zA-Z0-9]{16,})[\w~-]*=*/g, "(redacted)", ["sm_pat_"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:sm_sat_[a-zA-Z0-9]{16,})[\w~-]*=*/g, "(redacted)", ["sm_sat_"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:sntrys_eyJpYXQiO[a-zA-Z0-9+\/]{10,200}(?:LCJyZWdpb25fdXJs|InJlZ2lvbl91cmwi|cmVnaW9uX3VybCI6)[a-zA-Z0-9+\/]{10,200}={0,2}_[a-zA-Z0-9+\/]{20,})[\w~-]*=*/g, "(redacted)", ["sntrys_eyjpyxqio"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:sntryu_[a-f0-9]{20,})[\w~-]*=*/g, "(redacted)", ["sntryu_"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:(?:[Tt][Ff][Pp]_[a-zA-Z0-9\-_\.=]{20,}))[\w~-]*=*/g, "(redacted)", ["tfp_"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:tk-us-[\w-]{20,})[\w~-]*=*/g, "(redacted)", ["tk-us-"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:v1\.0-[a-f0-9]{24}-[a-f0-9]{20,})[\w~-]*=*/g, "(redacted)", ["v1.0-"]],
  [/(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))(?:xkeysib-[a-f0-9]{64}\-(?:[a-zA-Z0-9]{16,}))[\w~-]*=*/g, "(redacted)", ["xkeysib-"]],
  [/((?:adafruit)[\w.-]{0,24}[\"']?\s{0,2}(?::=|[:=]|=>)\s{0,2}[\"']?)(?=[\w.=+\/-]{0,40}\d)(?=[\w.=+\/-]{0,40}[g-z])(?:[a-z0-9_-]{32})(?!\w)/gi, "$1(redacted)", ["adafruit"]],
  [/((?:airtable)[\w.-]{0,24}[\"']?\s{0,2}(?::=|[:=]|=>)\s{0,2}[\"']?)(?=[\w.=+\/-]{0,40}\d)(?=[\w.=+\/-]{0,40}[g-z])(?:[a-z0-9]{17})(?!\w)/gi, "$1(redacted)", ["airtable"]],
  [/((?:algolia)[\w.-]{0,24}[\"']?\s{0,2}(?::=|[:=]|=>)\s{0,2}[\"']?)(?=[\w.=+\/-]{0,40}\d)(?=[\w.=+\/-]{0,40}[g-z])(?:[a-z0-9]{32})(?!\w)/gi, "$1(redacted)", ["algolia"]],
  [/((?:alibaba)[\w.-]{0,24}[\"']?\s{0,2}(?::=|[:=]|=>)\s{0,2}[\"']?)(?=[\w.=+\/-]{0,40}\d)(?=[\w.=+\/-]{0,40}[g-z])(?:[a-z0-9]{30})(?!\w)/gi, "$1(redacted)", ["alibaba"]],
  [/((?:artifactory|bintray|jfrog|xray)[\w.-]{0,24}[\"']?\s{0,2}(?::=|[:=]|=>)\s{0,2}[\"']?)(?=[\w.=+\/-]{0,40}\d)(?=[\w.=+\/-]{0,40}[g-z])(?:[a-z0-9]{73}|[a-z0-9]{64})(?!\w)/gi, "$1(redacted)", ["artifactory", "bintray", "jfrog", "xray"]],
  [/((?:asana)[\w.-]{0,24}[\"']?\s{0,2}(?::=|[:=]|=>)\s{0,2}[\"']?)(?=[\w.=+\/-]{0,40}\d)(?=[\w.=+\/-]{0,40}[g-z])(?:[a-z0-9]{32})(?!\w)/gi, "$1(redacted)", ["asana"]],
  [/((?:atlassian|confluence|jira)[\w.-]{0,24}[\"']?\s{0,2}(?::=|[:=]|=>)\s{0,2}[\"']?)(?=[\w.=+\/-]{0,40}\d)(?=[\w.=+\/-]{0,40}[g-z])(?:[a-z0-9]{20}[a-f0-9]{4})(?!\w)/gi, "$1(redacted)", ["atlassian", "confluence", "jira"]],
  [/((?:beamer)[\w.-]{0,24}[\"']?\s{0,2}(?::=|[:=]|=>)\s{0,2}[\"']?)(?=[\w.=+\/-]{0,40}\d)(?=[\w.=+\/-]{0,40}[g-z])(?:b_[a-z0-9=_\-]{44})(?!\w)/gi, "$1(redacted)", ["beamer"]],
  [/((?:bitbucket)[\w.-]{0,24}[\"']?\s{0,2}(?::=|[:=]|=>)\s{0,2}[\"']?)(?=[\w.=+\/-]{0,40}\d)(?=[\w.=+\/-]{0,40}[g-z])(?:[a-z0-9]{32}|[a-z0-9=_\-]{64})(?!\w)/gi, "$1(redacted)", ["bitbucket"]],
  [/((?:bittrex)[\w.-]{0,24}[\"']?\s{0,2}(?::=|[:=]|=>)\s{0,2}[\"']?)(?=[\w.=+\/-]{0,40}\d)(?=[\w.=+\/-]{0,40}[g-z])(?:[a-z0-9]{32})(?!\w)/gi, "$1(redacted)", ["bittrex"]],
  [/((?:cloudflare)[\w.-]{0,24}[\"']?\s{0,2}(?::=|[:=]|=>)\s{0,2}[\"']?)(?=[\w.=+\/-]{0,40}\d)(?=[\w.=+\/-]{0,40}[g-z])(?:[a-z0-9_-]{40})(?!\w)/gi, "$1(redacted)", ["cloudflare"]],
  [/((?:co_api_key|cohere)[\w.-]{0,24}[\"']?\s{0,2}(?::=|[:=]|=>)\s{0,2}[\"']?)(?=[\w.=+\/-]{0,40}\d)(?=[\w.=+\/-]{0,40}[g-z])(?:[a-zA-Z0-9]{40})(?!\w)/gi, "$1(redacted)", ["co_api_key", "cohere"]],
  [/((?:codecov)[\w.-]{0,24}[\"']?\s{0,2}(?::=|[:=]|=>)\s{0,2}[\"']?)(?=[\w.=+\/-]{0,40}\d)(?=[\w.=+\/-]{0,40}[g-z])(?:[a-z0-9]{32})(?!\w)/gi, "$1(redacted)", ["codecov"]],
  [/((?:coinbase)[\w.-]{0,24}[\"']?\s{0,2}(?::=|[:=]|=>)\s{0,2}[\"']?)(?=[\w.=+\/-]{0,40}\d)(?=[\w.=+\/-]{0,40}[g-z])(?:[a-z0-9_-]{64})(?!\w)/gi, "$1(redacted)", ["coinbase"]],
  [/((?:confluent)[\w.-]{0,24}[\"']?\s{0,2}(?::=|[:=]|=>)\s{0,2}[\"']?)(?=[\w.=+\/-]{0,40}\d)(?=[\w.=+\/-]{0,40}[g-z])(?:[a-z0-9]{16}|[a-z0-9]{64})(?!\w)/gi, "$1(redacted)", ["confluent"]],
  [/((?:contentful)[\w.-]{0,24}[\"']?\s{0,2}(?::=|[:=]|=>)\s{0,2}[\"']?)(?=[\w.=+\/-]{0,40}\d)(?=[\w.=+\/-]{0,40}[g-z])(?:[a-z0-9=_\-]{43})(?!\w)/gi, "$1(redacted)", ["contentful"]],
  [/((?:datadog)[\w.-]{0,24}[\"']?\s{0,2}(?::=|[:=]|=>)\s{0,2}[\"']?)(?=[\w.=+\/-]{0,40}\d)(?=[\w.=+\/-]{0,40}[g-z])(?:[a-z0-9]{40})(?!\w)/gi, "$1(redacted)", ["datadog"]],
  [/((?:discord)[\w.-]{0,24}[\"']?\s{0,2}(?::=|[:=]|=>)\s{0,2}[\"']?)(?=[\w.=+\/-]{0,40}\d)(?=[\w.=+\/-]{0,40}[g-z])(?:[a-z0-9=_\-]{32})(?!\w)/gi, "$1(redacted)", ["discord"]],
  [/((?:droneci)[\w.-]{0,24}[\"']?\s{0,2}(?::=|[:=]|=>)\s{0,2}[\"']?)(?=[\w.=+\/-]{0,40}\d)(?=[\w.=+\/-]{0,40}[g-z])(?:[a-z0-9]{32})(?!\w)/gi, "$1(redacted)", ["droneci"]],
  [/((?:dropbox)[\w.-]{0,24}[\"']?\s{0,2}(?::=|[:=]|=>)\s{0,2}[\"']?)(?=[\w.=+\/-]{0,40}\d)(?=[\w.=+\/-]{0,40}[g-z])(?:[a-z0-9]{15}|[a-z0-9]{11}(?:AAAAAAAAAA)[a-z0-9\-_=]{43}|sl\.[a-z0-9\-=_]{135})(?!\w)/gi, "$1(redacted)", ["dropbox"]],
  [/((?:etsy)[\w.-]{0,24}[\"']?\s{0,2}(?::=|[:=]|=>)\s{0,2}[\"']?)(?=[\w.=+\/-]{0,40}\d)(?=[\w.=+\/-]{0,40}[g-z])(?:[a-z0-9]{24})(?!\w)/gi, "$1(redacted)", ["etsy"]],
  [/((?:fastly)[\w.-]{0,24}[\"']?\s{0,2}(?::=|[:=]|=>)\s{0,2}[\"']?)(?=[\w.=+\/-]{0,40}\d)(?=[\w.=+\/-]{0,40}[g-z])(?:[a-z0-9=_\-]{32})(?!\w)/gi, "$1(redacted)", ["fastly"]],
  [/((?:finicity)[\w.-]{0,24}[\"']?\s{0,2}(?::=|[:=]|=>)\s{0,2}[\"']?)(?=[\w.=+\/-]{0,40}\d)(?=[\w.=+\/-]{0,40}[g-z])(?:[a-z0-9]{20})(?!\w)/gi, "$1(redacted)", ["finicity"]],
  [/((?:finnhub)[\w.-]{0,24}[\"']?\s{0,2}(?::=|[:=]|=>)\s{0,2}[\"']?)(?=[\w.=+\/-]{0,40}\d)(?=[\w.=+\/-]{0,40}[g-z])(?:[a-z0-9]{20})(?!\w)/gi, "$1(redacted)", ["finnhub"]],
  [/((?:flickr)[\w.-]{0,24}[\"']?\s{0,2}(?::=|[:=]|=>)\s{0,2}[\"']?)(?=[\w.=+\/-]{0,40}\d)(?=[\w.=+\/-]{0,40}[g-z])(?:[a-z0-9]{32})(?!\w)/gi, "$1(redacted)", ["flickr"]],
  [/((?:freshbooks)[\w.-]{0,24}[\"']?\s{0,2}(?::=|[:=]|=>)\s{0,2}[\"']?)(?=[\w.=+\/-]{0,40}\d)(?=[\w.=+\/-]{0,40}[g-z])(?:[a-z0-9]{64})(?!\w)/gi, "$1(redacted)", ["freshbooks"]],
  [/((?:gitter)[\w.-]{0,24}[\"']?\s{0,2}(?::=|[:=]|=>)\s{0,2}[\"']?)(?=[\w.=+\/-]{0,40}\d)(?=[\w.=+\/-]{0,40}[g-z])(?:[a-z0-9_-]{40})(?!\w)/gi, "$1(redacted)", ["gitter"]],
  [/((?:intercom)[\w.-]{0,24}[\"']?\s{0,2}(?::=|[:=]|=>)\s{0,2}[\"']?)(?=[\w.=+\/-]{0,40}\d)(?=[\w.=+\/-]{0,40}[g-z])(?:[a-z0-9=_\-]{60})(?!\w)/gi, "$1(redacted)", ["intercom"]],
  [/((?:kraken)[\w.-]{0,24}[\"']?\s{0,2}(?::=|[:=]|=>)\s{0,2}[\"']?)(?=[\w.=+\/-]{0,40}\d)(?=[\w.=+\/-]{0,40}[g-z])(?:[a-z0-9\/=_\+\-]{80,90})(?!\w)/gi, "$1(redacted)", ["kraken"]],
  [/((?:launchdarkly)[\w.-]{0,24}[\"']?\s{0,2}(?::=|[:=]|=>)\s{0,2}[\"']?)(?=[\w.=+\/-]{0,40}\d)(?=[\w.=+\/-]{0,40}[g-z])(?:[a-z0-9=_\-]{40})(?!\w)/gi, "$1(redacted)", ["launchdarkly"]],
  [/((?:linked\-in|linked_in|linkedin)[\w.-]{0,24}[\"']?\s{0,2}(?::=|[:=]|=>)\s{0,2}[\"']?)(?=[\w.=+\/-]{0,40}\d)(?=[\w.=+\/-]{0,40}[g-z])(?:[a-z0-9]{14}|[a-z0-9]{16})(?!\w)/gi, "$1(redacted)", ["linked-in", "linked_in", "linkedin"]],
  [/((?:lob)[\w.-]{0,24}[\"']?\s{0,2}(?::=|[:=]|=>)\s{0,2}[\"']?)(?=[\w.=+\/-]{0,40}\d)(?=[\w.=+\/-]{0,40}[g-z])(?:(?:live|test)_[a-f0-9]{35}|(?:test|live)_pub_[a-f0-9]{31})(?!\w)/gi, "$1(redacted)", ["lob"]],
  [/((?:looker)[\w.-]{0,24}[\"']?\s{0,2}(?::=|[:=]|=>)\s{0,2}[\"']?)(?=[\w.=+\/-]{0,40}\d)(?=[\w.=+\/-]{0,40}[g-z])(?:[a-z0-9]{20}|[a-z0-9]{24})(?!\w)/gi, "$1(redacted)", ["looker"]],
  [/((?:mailchimp|mailchimpsdk\.initialize)[\w.-]{0,24}[\"']?\s{0,2}(?::=|[:=]|=>)\s{0,2}[\"']?)(?=[\w.=+\/-]{0,40}\d)(?=[\w.=+\/-]{0,40}[g-z])(?:[a-f0-9]{32}-us\d\d)(?!\w)/gi, "$1(redacted)", ["mailchimp", "mailchimpsdk.initialize"]],
  [/((?:mailgun)[\w.-]{0,24}[\"']?\s{0,2}(?::=|[:=]|=>)\s{0,2}[\"']?)(?=[\w.=+\/-]{0,40}\d)(?=[\w.=+\/-]{0,40}[g-z])(?:[a-h0-9]{32}-[a-h0-9]{8}-[a-h0-9]{8})(?!\w)/gi, "$1(redacted)", ["mailgun"]],
  [/((?:mapbox)[\w.-]{0,24}[\"']?\s{0,2}(?::=|[:=]|=>)\s{0,2}[\"']?)(?=[\w.=+\/-]{0,40}\d)(?=[\w.=+\/-]{0,40}[g-z])(?:pk\.[a-z0-9]{60}\.[a-z0-9]{22})(?!\w)/gi, "$1(redacted)", ["mapbox"]],
  [/((?:mattermost)[\w.-]{0,24}[\"']?\s{0,2}(?::=|[:=]|=>)\s{0,2}[\"']?)(?=[\w.=+\/-]{0,40}\d)(?=[\w.=+\/-]{0,40}[g-z])(?:[a-z0-9]{26})(?!\w)/gi, "$1(redacted)", ["mattermost"]],
  [/((?:message\-bird|message_bird|messagebird)[\w.-]{0,24}[\"']?\s{0,2}(?::=|[:=]|=>)\s{0,2}[\"']?)(?=[\w.=+\/-]{0,40}\d)(?=[\w.=+\/-]{0,40}[g-z])(?:[a-z0-9]{25})(?!\w)/gi, "$1(redacted)", ["message-bird", "message_bird", "messagebird"]],
  [/((?:netlify)[\w.-]{0,24}[\"']?\s{0,2}(?::=|[:=]|=>)\s{0,2}[\"']?)(?=[\w.=+\/-]{0,40}\d)(?=[\w.=+\/-]{0,40}[g-z])(?:[a-z0-9=_\-]{40,46})(?!\w)/gi, "$1(redacted)", ["netlify"]],
  [/((?:new\-relic|new_relic|newrelic)[\w.-]{0,24}[\"']?\s{0,2}(?::=|[:=]|=>)\s{0,2}[\"']?)(?=[\w.=+\/-]{0,40}\d)(?=[\w.=+\/-]{0,40}[g-z])(?:[a-z0-9]{64})(?!\w)/gi, "$1(redacted)", ["new-relic", "new_relic", "newrelic"]],
  [/((?:new\-york\-times|newyorktimes|nytimes)[\w.-]{0,24}[\"']?\s{0,2}(?::=|[:=]|=>)\s{0,2}[\"']?)(?=[\w.=+\/-]{0,40}\d)(?=[\w.=+\/-]{0,40}[g-z])(?:[a-z0-9=_\-]{32})(?!\w)/gi, "$1(redacted)", ["new-york-times", "newyorktimes", "nytimes"]],
  [/((?:okta)[\w.-]{0,24}[\"']?\s{0,2}(?::=|[:=]|=>)\s{0,2}[\"']?)(?=[\w.=+\/-]{0,40}\d)(?=[\w.=+\/-]{0,40}[g-z])(?:00[\w=\-]{40})(?!\w)/gi, "$1(redacted)", ["okta"]],
  [/((?:plaid)[\w.-]{0,24}[\"']?\s{0,2}(?::=|[:=]|=>)\s{0,2}[\"']?)(?=[\w.=+\/-]{0,40}\d)(?=[\w.=+\/-]{0,40}[g-z])(?:[a-z0-9]{24}|[a-z0-9]{30})(?!\w)/gi, "$1(redacted)", ["plaid"]],
  [/((?:private\-ai|private_ai|privateai)[\w.-]{0,24}[\"']?\s{0,2}(?::=|[:=]|=>)\s{0,2}[\"']?)(?=[\w.=+\/-]{0,40}\d)(?=[\w.=+\/-]{0,40}[g-z])(?:[a-z0-9]{32})(?!\w)/gi, "$1(redacted)", ["private-ai", "private_ai", "privateai"]],
  [/((?:rapidapi)[\w.-]{0,24}[\"']?\s{0,2}(?::=|[:=]|=>)\s{0,2}[\"']?)(?=[\w.=+\/-]{0,40}\d)(?=[\w.=+\/-]{0,40}[g-z])(?:[a-z0-9_-]{50})(?!\w)/gi, "$1(redacted)", ["rapidapi"]],
  [/((?:sonar)[\w.-]{0,24}[\"']?\s{0,2}(?::=|[:=]|=>)\s{0,2}[\"']?)(?=[\w.=+\/-]{0,40}\d)(?=[\w.=+\/-]{0,40}[g-z])(?:(?:squ_|sqp_|sqa_)?[a-z0-9=_\-]{40})(?!\w)/gi, "$1(redacted)", ["sonar"]],
  [/((?:sumo)[\w.-]{0,24}[\"']?\s{0,2}(?::=|[:=]|=>)\s{0,2}[\"']?)(?=[\w.=+\/-]{0,40}\d)(?=[\w.=+\/-]{0,40}[g-z])(?:su[a-zA-Z0-9]{12}|[a-z0-9]{64})(?!\w)/gi, "$1(redacted)", ["sumo"]],
  [/((?:travis)[\w.-]{0,24}[\"']?\s{0,2}(?::=|[:=]|=>)\s{0,2}[\"']?)(?=[\w.=+\/-]{0,40}\d)(?=[\w.=+\/-]{0,40}[g-z])(?:[a-z0-9]{22})(?!\w)/gi, "$1(redacted)", ["travis"]],
  [/((?:twitch)[\w.-]{0,24}[\"']?\s{0,2}(?::=|[:=]|=>)\s{0,2}[\"']?)(?=[\w.=+\/-]{0,40}\d)(?=[\w.=+\/-]{0,40}[g-z])(?:[a-z0-9]{30})(?!\w)/gi, "$1(redacted)", ["twitch"]],
  [/((?:twitter)[\w.-]{0,24}[\"']?\s{0,2}(?::=|[:=]|=>)\s{0,2}[\"']?)(?=[\w.=+\/-]{0,40}\d)(?=[\w.=+\/-]{0,40}[g-z])(?:[a-z0-9]{45}|[0-9]{15,25}-[a-zA-Z0-9]{20,40}|[a-z0-9]{25}|[a-z0-9]{50}|A{22}[a-zA-Z0-9%]{80,100})(?!\w)/gi, "$1(redacted)", ["twitter"]],
  [/((?:yandex)[\w.-]{0,24}[\"']?\s{0,2}(?::=|[:=]|=>)\s{0,2}[\"']?)(?=[\w.=+\/-]{0,40}\d)(?=[\w.=+\/-]{0,40}[g-z])(?:t1\.[A-Z0-9a-z_-]+[=]{0,2}\.[A-Z0-9a-z_-]{86}[=]{0,2}|YC[a-zA-Z0-9_\-]{38})(?!\w)/gi, "$1(redacted)", ["yandex"]],
  [/((?:zendesk)[\w.-]{0,24}[\"']?\s{0,2}(?::=|[:=]|=>)\s{0,2}[\"']?)(?=[\w.=+\/-]{0,40}\d)(?=[\w.=+\/-]{0,40}[g-z])(?:[a-z0-9]{40})(?!\w)/gi, "$1(redacted)", ["zendesk"]],
  [/(\b[\w.-]{0,64}?(?:api[-_ ]?key|access[-_]?token|refresh[-_]?token|id[-_]?token|auth[-_]?token|bearer[-_]?token|session[-_]?token|client[-_]?secret|secret[-_]?access[-_]?key|(?:shared[-_]?)?access[-_]?key(?:[-_]?id)?|account[-_]?key|secret[-_]?key|private[-_]?key|subscription[-_]?key|security[-_]?token|password|passwd|passphrase|secret|connection[-_]?string)[\"'\\]{0,4}\s{0,2}(?::=|[:=]|=>|%3D)\s{0,2}[\"'\\]{0,4})(?!\(redacted\))(?!\$|process\.env)(?:(?<=\\\")(?!\s)(?:[^\"\\\r\n]|\\(?![\"\\])){6,}|(?<!\\\")(?<=\")(?!\s)(?:[^\"\\\r\n]|\\[^\r\n]){6,}|(?<=')(?!\s)(?:[^'\\\r\n]|\\[^\r\n]){6,}|[^\s\"'\\,;&}<>()]{6,})/gi, "$1(redacted)", []],
  [/(\b[A-Z][A-Z0-9_]{0,64}?(?:TOKEN|SECRET|PASSWORD|PASSWD|PASS|PWD|KEY|CREDENTIALS?|CREDS|PAT|AUTH|DSN)(?:_ID)?[\"']?\s?=\s?[\"']?)(?!\(redacted\))(?!\$|true|false|null|\d{1,6}\b)(?:(?<=\\\")(?!\s)(?:[^\"\\\r\n]|\\(?![\"\\])){4,}|(?<!\\\")(?<=\")(?!\s)(?:[^\"\\\r\n]|\\[^\r\n]){4,}|(?<=')(?!\s)(?:[^'\\\r\n]|\\[^\r\n]){4,}|[^\s\"'\\,;&}<>()]{4,})/g, "$1(redacted)", []],
];
