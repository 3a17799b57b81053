package interop

import java.io.File
import kotlinx.serialization.SerializationException
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.JsonObject

/** The command line cannot be used; the message says why, in a sentence. */
class UsageException(sentence: String) : Exception(sentence)

/** What the command line asked for: options, `--`, and the agent's command. */
class Options(words: Array<String>) {
    var name = "interop-kotlin"
        private set
    var cwd = "."
        private set
    var meta: JsonObject? = null
        private set
    val prompts = mutableListOf<String>()
    var turnTimeoutMillis: Long? = null
        private set
    var probe = false
        private set
    val command: List<String>

    init {
        val rest = words.toMutableList()
        while (rest.isNotEmpty() && rest.first() != "--") take(rest.removeAt(0), rest)
        command = rest.drop(1)
        cwd = File(cwd).canonicalPath
        if (command.isEmpty()) throw UsageException("Give the agent's command after --.")
        if (prompts.isEmpty()) prompts += "What is the answer?"
    }

    private fun take(word: String, rest: MutableList<String>) {
        fun value() = rest.removeFirstOrNull() ?: throw UsageException("$word needs a value.")
        when (word) {
            "--name" -> name = value()
            "--cwd" -> cwd = value()
            "--prompt" -> prompts += value()
            "--meta" -> meta = jsonObject(value())
            "--turn-timeout" -> turnTimeoutMillis = millis(value())
            "--protocol" -> if (value() != "1") throw UsageException("This SDK speaks version 1 only.")
            "--probe" -> probe = true
            else -> throw UsageException("$word is no option of this client.")
        }
    }
}

private fun jsonObject(text: String): JsonObject = try {
    Json.parseToJsonElement(text) as? JsonObject
} catch (_: SerializationException) {
    null
} ?: throw UsageException("--meta must be a JSON object.")

private fun millis(text: String): Long {
    val seconds = text.toDoubleOrNull() ?: throw UsageException("--turn-timeout must be a number of seconds.")
    return (seconds * 1000).toLong()
}
