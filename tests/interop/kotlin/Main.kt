/**
 * A client on the official Kotlin SDK that writes down what it is given.
 *
 * Owns: one session with the command after `--`, and one JSON line on stdout for each thing that
 * the SDK handed to user code. Does not own: any judgement. It knows nothing of lastword, and
 * `agent_error` is foreign to its SDK. The clients in other languages print the same lines.
 */
package interop

import com.agentclientprotocol.client.Client
import com.agentclientprotocol.client.ClientInfo
import com.agentclientprotocol.client.ClientSession
import com.agentclientprotocol.common.ClientSessionOperations
import com.agentclientprotocol.common.Event
import com.agentclientprotocol.common.SessionCreationParameters
import com.agentclientprotocol.model.ClientCapabilities
import com.agentclientprotocol.model.ContentBlock
import com.agentclientprotocol.model.Implementation
import com.agentclientprotocol.model.PermissionOption
import com.agentclientprotocol.model.PermissionOptionKind
import com.agentclientprotocol.model.PromptResponse
import com.agentclientprotocol.model.RequestPermissionOutcome
import com.agentclientprotocol.model.RequestPermissionResponse
import com.agentclientprotocol.model.SessionUpdate
import com.agentclientprotocol.protocol.JsonRpcException
import com.agentclientprotocol.protocol.Protocol
import com.agentclientprotocol.rpc.ACPJson
import com.agentclientprotocol.agent.AgentInfo
import com.agentclientprotocol.transport.StdioTransport
import java.io.File
import java.io.IOException
import java.util.concurrent.TimeUnit
import kotlin.system.exitProcess
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.SupervisorJob
import kotlinx.coroutines.delay
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withTimeoutOrNull
import kotlinx.io.asSink
import kotlinx.io.asSource
import kotlinx.io.buffered
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.jsonObject

private const val LINGER_MILLIS = 200L
private const val CLOSE_GRACE_SECONDS = 2L
private const val EXIT_USAGE = 2

/** Calls run apart from the one who waits, so that one who gives up waiting cancels none of them. */
private val calls = CoroutineScope(SupervisorJob() + Dispatchers.Default)

/** What a call gave or threw, or null where neither came in time. */
internal suspend fun <T> within(limitMillis: Long?, call: suspend () -> T): Result<T>? {
    val answer = CompletableDeferred<Result<T>>()
    calls.launch { answer.complete(runCatching { call() }) }
    return if (limitMillis == null) answer.await() else withTimeoutOrNull(limitMillis) { answer.await() }
}

private fun noteUpdate(update: SessionUpdate) {
    val told = ACPJson.encodeToJsonElement(SessionUpdate.serializer(), update)
    report("update", "kind" to told.jsonObject["sessionUpdate"], "update" to told)
}

/** User code as the SDK sees it: approves every permission, notes every update. */
private object Operations : ClientSessionOperations {
    override suspend fun requestPermissions(
        toolCall: SessionUpdate.ToolCallUpdate,
        permissions: List<PermissionOption>,
        _meta: JsonElement?,
    ): RequestPermissionResponse {
        val allowed = permissions.find { it.kind == PermissionOptionKind.ALLOW_ONCE }
        val outcome = allowed?.let { RequestPermissionOutcome.Selected(it.optionId) }
        return RequestPermissionResponse(outcome ?: RequestPermissionOutcome.Cancelled)
    }

    override suspend fun notify(notification: SessionUpdate, _meta: JsonElement?) = noteUpdate(notification)
}

/** One turn, and how it ended. */
private suspend fun prompt(session: ClientSession, options: Options, n: Int, text: String) {
    report("prompt", "n" to n)
    var answer: PromptResponse? = null
    val done = within(options.turnTimeoutMillis) {
        session.prompt(listOf(ContentBlock.Text(text))).collect { event ->
            when (event) {
                is Event.SessionUpdateEvent -> noteUpdate(event.update)
                is Event.PromptResponseEvent -> answer = event.response
            }
        }
    }
    val result = answer
    val error = done?.exceptionOrNull()
    when {
        done == null -> report("hang", "n" to n)
        error is JsonRpcException ->
            report("error", "n" to n, "code" to error.code, "message" to error.message, "data" to error.data)
        error != null ->
            report("exception", "n" to n, "cause" to error::class.simpleName, "text" to error.message)
        result == null ->
            report("exception", "n" to n, "cause" to "Flow", "text" to "The turn's events ended without an answer.")
        else -> {
            val told = ACPJson.encodeToJsonElement(PromptResponse.serializer(), result)
            report("answer", "n" to n, "stop_reason" to told.jsonObject["stopReason"], "result" to told)
        }
    }
}

/** The value of a call of the beginning of a session; tells what failed, and gives null then. */
private suspend fun <T : Any> opening(stage: String, options: Options, call: suspend () -> T): T? {
    val done = within(options.turnTimeoutMillis, call)
    val error = done?.exceptionOrNull()
    when {
        done == null -> report("failed", "stage" to stage, "cause" to "hang", "text" to "no answer in time")
        error != null ->
            report("failed", "stage" to stage, "cause" to error::class.simpleName, "text" to error.message)
    }
    return done?.getOrNull()
}

private suspend fun openSession(client: Client, options: Options, stage: String): ClientSession? {
    val parameters = SessionCreationParameters(options.cwd, emptyList())
    val session = opening(stage, options) { client.newSession(parameters) { _, _ -> Operations } } ?: return null
    report("session", "id" to session.sessionId.value)
    return session
}

private suspend fun converse(client: Client, options: Options) {
    val hello = ClientInfo(
        capabilities = ClientCapabilities(_meta = options.meta),
        implementation = Implementation(options.name, "1.0.0"),
    )
    val agent = opening("initialize", options) { client.initialize(hello) } ?: return
    report("initialized", "result" to onTheWire(agent))
    val session = openSession(client, options, "session/new") ?: return
    options.prompts.forEachIndexed { n, text -> prompt(session, options, n, text) }
    if (options.probe) openSession(client, options, "probe")?.let { prompt(it, options, options.prompts.size, "hello") }
}

/** The SDK's own class for the answer to `initialize` has other names than the protocol. */
private fun onTheWire(agent: AgentInfo): JsonElement {
    val names = mapOf("capabilities" to "agentCapabilities", "implementation" to "agentInfo")
    val told = ACPJson.encodeToJsonElement(AgentInfo.serializer(), agent).jsonObject
    return JsonObject(told.mapKeys { (name, _) -> names[name] ?: name })
}

private fun spawn(options: Options): Process? = try {
    ProcessBuilder(options.command)
        .directory(File(options.cwd))
        .redirectError(ProcessBuilder.Redirect.INHERIT)
        .start()
} catch (error: IOException) {
    report("failed", "stage" to "initialize", "cause" to error::class.simpleName, "text" to error.message)
    null
}

/** Closes the agent's stdin, waits, and kills where that is not enough. A signal is 128 + its number. */
private fun end(process: Process): Int {
    // The SDK closes the stream as well, from its own thread.
    runCatching { process.outputStream.close() }
    if (!process.waitFor(CLOSE_GRACE_SECONDS, TimeUnit.SECONDS)) process.destroyForcibly().waitFor()
    return process.exitValue()
}

fun main(words: Array<String>) {
    val options = try {
        Options(words)
    } catch (error: UsageException) {
        System.err.println(error.message)
        exitProcess(EXIT_USAGE)
    }
    listenToComplaints()
    val process = spawn(options) ?: exitProcess(1)
    val input = process.inputStream.asSource().buffered()
    val output = process.outputStream.asSink().buffered()
    val protocol = Protocol(calls, StdioTransport(calls, Dispatchers.IO, input, output))
    val client = Client(protocol)
    protocol.start()
    runBlocking {
        converse(client, options)
        delay(LINGER_MILLIS)
    }
    report("ended", "returncode" to end(process))
    // The SDK's threads may still wait for a stream that a grandchild holds open.
    exitProcess(0)
}
