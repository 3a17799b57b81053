/**
 * A client on the official Kotlin SDK that comes to a gateway by URL, over its ktor transport.
 *
 * Owns what `remote/client_ts.mjs` owns: one session and its turns, a second connection after the
 * first was cut in mid-turn, with one JSON line on stdout for each thing that the SDK delivered.
 */
package interop

import com.agentclientprotocol.client.Client
import com.agentclientprotocol.client.ClientInfo
import com.agentclientprotocol.client.ClientSession
import com.agentclientprotocol.common.ClientSessionOperations
import com.agentclientprotocol.common.Event
import com.agentclientprotocol.common.SessionCreationParameters
import com.agentclientprotocol.model.AcpMethod
import com.agentclientprotocol.model.ClientCapabilities
import com.agentclientprotocol.model.ContentBlock
import com.agentclientprotocol.model.Implementation
import com.agentclientprotocol.model.LoadSessionRequest
import com.agentclientprotocol.model.PermissionOption
import com.agentclientprotocol.model.PromptRequest
import com.agentclientprotocol.model.PromptResponse
import com.agentclientprotocol.model.RequestPermissionOutcome
import com.agentclientprotocol.model.RequestPermissionResponse
import com.agentclientprotocol.model.SessionId
import com.agentclientprotocol.model.SessionNotification
import com.agentclientprotocol.model.SessionUpdate
import com.agentclientprotocol.protocol.JsonRpcException
import com.agentclientprotocol.protocol.Protocol
import com.agentclientprotocol.protocol.invoke
import com.agentclientprotocol.protocol.setNotificationHandler
import com.agentclientprotocol.protocol.setRequestHandler
import com.agentclientprotocol.rpc.ACPJson
import com.agentclientprotocol.transport.WebSocketTransport
import io.ktor.client.HttpClient
import io.ktor.client.engine.cio.CIO
import io.ktor.client.plugins.websocket.WebSockets
import io.ktor.client.plugins.websocket.webSocketSession
import io.ktor.client.request.header
import java.util.concurrent.atomic.AtomicInteger
import kotlin.system.exitProcess
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.awaitCancellation
import kotlinx.coroutines.runBlocking
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.jsonObject
import kotlinx.serialization.json.jsonPrimitive

private const val LAST_WORDS = " The other half."

/** Of itself the SDK tells nobody of a connection that is cut: its request stays unanswered. */
private const val LOST_MILLIS = 2_000L

private val questions = AtomicInteger()
private val ended = CompletableDeferred<Unit>()

/** User code as the SDK sees it: approves every permission but the second, notes every update. */
private class RemoteOperations(private val name: String) : ClientSessionOperations {
    override suspend fun requestPermissions(
        toolCall: SessionUpdate.ToolCallUpdate,
        permissions: List<PermissionOption>,
        _meta: JsonElement?,
    ) = decide(name, toolCall, permissions)

    override suspend fun notify(notification: SessionUpdate, _meta: JsonElement?) = note(name, notification)
}

private suspend fun decide(
    name: String,
    toolCall: SessionUpdate.ToolCallUpdate,
    permissions: List<PermissionOption>,
): RequestPermissionResponse {
    report("permission", "name" to name, "title" to toolCall.title)
    // The second question is open while the link is cut.
    if (questions.incrementAndGet() == 2) awaitCancellation()
    return RequestPermissionResponse(RequestPermissionOutcome.Selected(permissions.first().optionId))
}

private fun note(name: String, update: SessionUpdate) {
    val told = ACPJson.encodeToJsonElement(SessionUpdate.serializer(), update).jsonObject
    report("update", "name" to name, "update" to told)
    val text = (told["content"] as? JsonObject)?.get("text")?.jsonPrimitive?.content
    if (name == "second" && text == LAST_WORDS) ended.complete(Unit)
}

/** A connection that has been greeted. */
private suspend fun connected(name: String, url: String, token: String): Client {
    val http = HttpClient(CIO) { install(WebSockets) }
    val socket = http.webSocketSession(url) { header("Authorization", "Bearer $token") }
    val protocol = Protocol(socket, WebSocketTransport(socket, socket))
    val client = Client(protocol)
    protocol.start()
    client.initialize(ClientInfo(capabilities = ClientCapabilities(), implementation = Implementation(name, "1.0.0")))
    report("initialized", "name" to name)
    return client
}

/**
 * Loads a session and prompts in it, by the SDK's `Protocol`: in 0.10.5 `Client.loadSession` waits for ever where an
 * agent replays, because an update of a session that is being loaded holds up the answer behind it.
 */
private suspend fun loadAndPrompt(protocol: Protocol, session: SessionId, cwd: String) {
    protocol.setNotificationHandler(AcpMethod.ClientMethods.SessionUpdate) { told: SessionNotification ->
        note("second", told.update)
    }
    protocol.setRequestHandler(AcpMethod.ClientMethods.SessionRequestPermission) { asked ->
        decide("second", asked.toolCall, asked.options)
    }
    AcpMethod.AgentMethods.SessionLoad(protocol, LoadSessionRequest(session, cwd, emptyList()))
    report("loaded", "sessionId" to session.value)
    ended.await()
    val prompt = PromptRequest(session, listOf(ContentBlock.Text("Prompt 3")))
    reportAnswer(3, AcpMethod.AgentMethods.SessionPrompt(protocol, prompt))
}

private fun reportAnswer(n: Int, result: PromptResponse) =
    report("answer", "n" to n, "result" to ACPJson.encodeToJsonElement(PromptResponse.serializer(), result))

/** One prompt, and how it ended. */
private suspend fun remoteTurn(session: ClientSession, n: Int) {
    var answer: PromptResponse? = null
    val done = within(if (n == 2) LOST_MILLIS else null) {
        session.prompt(listOf(ContentBlock.Text("Prompt $n"))).collect { event ->
            when (event) {
                is Event.SessionUpdateEvent -> note("first", event.update)
                is Event.PromptResponseEvent -> answer = event.response
            }
        }
    }
    val error = done?.exceptionOrNull()
    val result = answer
    when {
        done == null -> report("hang", "n" to n)
        error is JsonRpcException ->
            report("refused", "n" to n, "code" to error.code, "message" to error.message, "data" to error.data)
        error != null || result == null ->
            report("refused", "n" to n, "code" to null, "message" to "${error?.let { it::class.simpleName }}: ${error?.message}")
        else -> reportAnswer(n, result)
    }
}

/** `ws URL TOKEN CWD one|all`: this SDK's client has no other transport. */
object Remote {
    @JvmStatic
    fun main(words: Array<String>) {
        val (_, url, token, cwd, scenes) = words
        listenToComplaints()
        runBlocking {
            val parameters = SessionCreationParameters(cwd, emptyList())
            val first = connected("first", url, token)
            val session = first.newSession(parameters) { _, _ -> RemoteOperations("first") }
            report("session", "sessionId" to session.sessionId.value)
            remoteTurn(session, 1)
            if (scenes == "all") {
                remoteTurn(session, 2)
                loadAndPrompt(connected("second", url, token).protocol, session.sessionId, cwd)
            }
        }
        // The SDK's threads still wait for the connection that was cut.
        exitProcess(0)
    }
}
