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
import com.agentclientprotocol.model.ClientCapabilities
import com.agentclientprotocol.model.ContentBlock
import com.agentclientprotocol.model.Implementation
import com.agentclientprotocol.model.PermissionOption
import com.agentclientprotocol.model.PromptResponse
import com.agentclientprotocol.model.RequestPermissionOutcome
import com.agentclientprotocol.model.RequestPermissionResponse
import com.agentclientprotocol.model.SessionUpdate
import com.agentclientprotocol.protocol.JsonRpcException
import com.agentclientprotocol.protocol.Protocol
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
private const val LOST_MILLIS = 10_000L

private val questions = AtomicInteger()
private val ended = CompletableDeferred<Unit>()

/** User code as the SDK sees it: approves every permission but the second, notes every update. */
private class RemoteOperations(private val name: String) : ClientSessionOperations {
    override suspend fun requestPermissions(
        toolCall: SessionUpdate.ToolCallUpdate,
        permissions: List<PermissionOption>,
        _meta: JsonElement?,
    ): RequestPermissionResponse {
        report("permission", "name" to name, "title" to toolCall.title)
        // The second question is open while the link is cut.
        if (questions.incrementAndGet() == 2) awaitCancellation()
        return RequestPermissionResponse(RequestPermissionOutcome.Selected(permissions.first().optionId))
    }

    override suspend fun notify(notification: SessionUpdate, _meta: JsonElement?) = note(name, notification)
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

/** One prompt, and how it ended. */
private suspend fun remoteTurn(name: String, session: ClientSession, n: Int) {
    var answer: PromptResponse? = null
    val done = within(if (n == 2) LOST_MILLIS else null) {
        session.prompt(listOf(ContentBlock.Text("Prompt $n"))).collect { event ->
            when (event) {
                is Event.SessionUpdateEvent -> note(name, event.update)
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
        else -> report("answer", "n" to n, "result" to ACPJson.encodeToJsonElement(PromptResponse.serializer(), result))
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
            remoteTurn("first", session, 1)
            if (scenes == "all") {
                remoteTurn("first", session, 2)
                val second = connected("second", url, token)
                val loaded = second.loadSession(session.sessionId, parameters) { _, _ -> RemoteOperations("second") }
                report("loaded", "sessionId" to loaded.sessionId.value)
                ended.await()
                remoteTurn("second", loaded, 3)
            }
        }
        // The SDK's threads still wait for the connection that was cut.
        exitProcess(0)
    }
}
