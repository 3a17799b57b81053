package interop

import java.util.logging.Handler
import java.util.logging.Level
import java.util.logging.LogManager
import java.util.logging.LogRecord
import java.util.logging.Logger
import java.util.logging.SimpleFormatter
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonNull
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive

/** Writes one line: the event's name and what is told of it. */
fun report(event: String, vararg told: Pair<String, Any?>) {
    val line = JsonObject(mapOf("event" to json(event)) + told.associate { (key, value) -> key to json(value) })
    synchronized(System.out) {
        println(line)
        System.out.flush()
    }
}

private fun json(value: Any?): JsonElement = when (value) {
    null -> JsonNull
    is JsonElement -> value
    is Number -> JsonPrimitive(value)
    else -> JsonPrimitive(value.toString())
}

/** What the SDK itself complains about becomes `log` lines. */
fun listenToComplaints() {
    LogManager.getLogManager().reset()
    Logger.getLogger("").apply {
        level = Level.WARNING
        addHandler(LogLines)
    }
}

private object LogLines : Handler() {
    override fun publish(record: LogRecord) {
        val cause = record.thrown?.let { ": $it" } ?: ""
        report("log", "text" to SimpleFormatter().formatMessage(record) + cause)
    }

    override fun flush() = Unit

    override fun close() = Unit
}
