"""German, written without accents, by the beginnings of words."""

from __future__ import annotations

from lastword.core.classify.concepts import Concept
from lastword.core.failure.taxonomy import ErrorType

CONCEPTS = (
    Concept(
        ErrorType.AUTH,
        "konto, account",
        "gesperrt, gebannt, deaktiviert",
    ),
    Concept(
        ErrorType.AUTH,
        "region, land, standort",
        "nicht unterstutz, nicht verfugbar, eingeschrankt, gesperrt, regionale",
        ("modell nicht",),
    ),
    Concept(
        ErrorType.CONTEXT_OVERFLOW,
        "kontext, anfrage, nachricht, eingabe, prompt, konversation, unterhaltung, gesprach, "
        "chat, text, token, inhalt, lange, anzahl der token, anfragedaten, anforderungsdaten, "
        "verlauf, dateigrosse",
        "zu lang, zu gross, zu umfangreich, uberschreite, uberschritt, ubersteig, zu viele token, "
        "ist voll, passt nicht, langer als",
        (
            *("pro minute", "limit pro", "zeit", "ratenlimit", "pro tag", "kontingent", "quote"),
            *("zu lange",),
        ),
    ),
    Concept(
        ErrorType.CONTENT_FILTER,
        "inhalt, richtlinie, sicherheit, moderation, filter, unangemessen, schadlich, "
        "sicherheitsrichtlin, nutzungsbedingung, inhaltsfilter, sensibl",
        "blockiert, gekennzeichnet, nicht vereinbar, abgelehnt, verstos, verletz, verweigert, "
        "gefiltert, enthalt, erkannt, gestoppt, unzulassig, gesperrt, zuruckgehalten",
        ("api-", "zugriff", "verbindung", "anmeld"),
    ),
    Concept(
        ErrorType.CONTENT_FILTER,
        "modell, die ki, ki-",
        "anfrage abgelehnt, abgelehnt zu antworten, verweigert, weigert, weigerte",
    ),
    Concept(
        ErrorType.CONTENT_FILTER,
        "umformulier, umzuformulier, anders formulier",
        "",
    ),
    Concept(
        ErrorType.BUDGET,
        "guthaben, kontingent, credits, credit, kontostand, quote, quota, abonnement, abo, tarif, "
        "budget, tages, monats, monatlich, taglich, wochentlich, wochen, zahlung, kostenlos, "
        "testphase, testzeitraum, punkte, nutzungs, heute, diesen monat, plan, gratis, free-",
        "aufgebraucht, erschopft, uberschritt, erreicht, abgelaufen, nicht ausreichend, "
        "nicht genugend, unzureichend, zu niedrig, aufladen, laden, upgrade, aktualisier, endet, "
        "fehlgeschlagen, leer, verbraucht, limit, ausgeschopft, benotigt, wechseln, kundig, "
        "reicht",
        ("pro minute", "pro sekunde", "sitzung", "anmeldung", "ratenlimit", "api-schlussel ist"),
    ),
    Concept(
        ErrorType.RATE_LIMIT,
        "anfrage, anfragen, anforderung, anmeldeversuch, versuche, ratenlimit, rate, "
        "anfragelimit, nachrichten, aufrufe, frequenz, ratenbegrenzung, haufigkeit, abfrage",
        "zu viele, zu haufig, zu schnell, limit, uberschritt, erreicht, begrenz, zu oft, haufig, "
        "gleichzeitig, gedrosselt",
        ("zeitlimit", "zeituberschreitung", "zu lang", "zu gross"),
    ),
    Concept(
        ErrorType.PROTOCOL_ERROR,
        "antworttext, antwortinhalt",
        "kein, fehlt, ohne",
    ),
    Concept(
        ErrorType.PROTOCOL_ERROR,
        "antwort",
        "ungultig, unerwartete, fehlerhafte, unlesbar, leer, ohne inhalt",
    ),
    Concept(
        ErrorType.INVALID_REQUEST,
        "anfrage, anforderung",
        "als fehlerhaft, als ungultig, fehlerhaft aufgebaut, falsch aufgebaut",
    ),
    Concept(
        ErrorType.INVALID_REQUEST,
        "funktion, tool-aufruf, werkzeug, bild, visuelle, audio",
        "nicht unterstutz, unterstutzt nicht, unterstutzt kein, unterstutzt die",
    ),
    Concept(
        ErrorType.MODEL_NOT_FOUND,
        "modell, model, endpunkt",
        "nicht gefunden, existiert nicht, nicht unterstutz, nicht verfugbar, unbekannt, ungultig, "
        "nicht vorhanden, kein zugriff, nicht freigeschaltet, eingestellt, nicht installiert, "
        "nicht ausgewahlt, kein modell, nicht finden, ausgewahlt, nicht gibt, veraltet, entfernt",
        ("derzeit", "momentan", "vorubergehend", "uberlastet", "region", "standort", "geantwortet"),
    ),
    Concept(
        ErrorType.AUTH,
        "lizenz, api-schlussel, api schlussel, api-key, api key, schlussel, anmeld, login, token, "
        "sitzung, session, authentifizier, autorisier, berechtig, zugriff, zugang, passwort, "
        "konto, zugangsdaten, anmeldedaten, anmelden, einloggen, kennwort, angemeldet, "
        "authentisier",
        "ungultig, falsch, abgelaufen, fehlt, fehlgeschlagen, erforderlich, verweigert, nicht, "
        "kein, keine, leer, gesperrt, erneut, uberpruf, pruf, verboten, bitte, mussen, "
        "widerrufen, benotigt, deaktiviert, hinterleg, fehler, inkorrekt, mussten, wieder, "
        "nochmal, unzureichend",
        ("verbindung", "tokens uber", "json"),
    ),
    Concept(
        ErrorType.PROTOCOL_ERROR,
        "fehler beim parsen, fehler beim analysieren, parsing, nicht geparst, ungultiges json",
        "",
    ),
    Concept(
        ErrorType.INVALID_REQUEST,
        "medienformat, nicht versteh, versteht ihre anfrage nicht, wie gestellt, anderen ansatz",
        "",
    ),
    Concept(
        ErrorType.AGENT_CRASH,
        "prozess, agent, programm, befehl, anwendung, ausfuhrbare datei",
        "beendet, absturz, abgesturzt, exit-code, fehlercode, mit code, gestartet werden, "
        "nicht gefunden, falsch geschrieben, abgebrochen, nicht starten",
    ),
    Concept(
        ErrorType.AGENT_CRASH,
        "falsch geschrieben oder konnte nicht gefunden, datei oder verzeichnis nicht gefunden, "
        "das system kann die angegebene datei nicht finden",
        "",
    ),
    Concept(
        ErrorType.TIMEOUT,
        "zeituberschreitung, zeitlimit, timeout, nicht rechtzeitig, zu lange gedauert, "
        "dauerte zu lange, dauert zu lange, zeit abgelaufen, keine antwort erhalten, "
        "keine antwort vom, nicht innerhalb, wartezeit, beim warten auf, zeit uberschritten, "
        "hat nicht geantwortet, lange nicht geantwortet, keine antwort nach, "
        "zu lange auf sich, zu lange warten",
        "",
        ("prozess",),
    ),
    Concept(
        ErrorType.PROVIDER_UNAVAILABLE,
        "gateway, upstream",
        "fehler",
        ("verbindung", "anfrage"),
    ),
    Concept(
        ErrorType.NETWORK,
        "verbindung, verbinden, netzwerk, internet, internetverbindung, netzwerkverbindung, host, "
        "proxy, offline, dns, stream, erreichen, hergestellt, zertifikat, verbindungs",
        "fehlgeschlagen, fehler, verloren, unterbrochen, getrennt, abgebrochen, pruf, uberpruf, "
        "keine, nicht moglich, abgelehnt, verweigert, zuruckgesetzt, geschlossen, "
        "nicht hergestellt, konnte nicht, kann nicht, nicht verbinden, nicht erreichen, instabil, "
        "kein, abgerissen",
    ),
    Concept(
        ErrorType.NETWORK,
        "server, dienst, anbieter",
        "nicht erreichen, verbindung, nicht verbinden, unerreichbar",
        ("vorubergehend",),
    ),
    Concept(
        ErrorType.PROVIDER_UNAVAILABLE,
        "server, dienst, service, modell, system, gateway, anbieter, coach, die ki, "
        "ki-, assistent, "
        "backend, schnittstelle",
        "nicht verfugbar, nicht erreichbar, uberlast, ausgelastet, fehler, vorubergehend, "
        "wartung, gestort, storung, probleme, schwierigkeiten, ausgefallen, nicht bearbeiten, "
        "beschaftigt, nicht verarbeiten, momentan, zurzeit, nicht bereitstellen, "
        "nicht in der lage, hohe auslast",
    ),
    Concept(
        ErrorType.PROVIDER_UNAVAILABLE,
        "serverfehler, wartungsarbeiten, uberlastet, vorubergehend nicht, "
        "derzeit nicht verfugbar, momentan nicht verfugbar, gateway-fehler, dienstfehler, "
        "interner fehler",
        "",
    ),
    Concept(
        ErrorType.PROTOCOL_ERROR,
        "antwort, json, daten, ausgabe, nachrichtenblock, chunk",
        "nicht verarbeitet, nicht verarbeiten, nicht gelesen, "
        "parsen, analysieren, ungultig, unerwartet, format, "
        "leer, nicht interpretiert, geparst, ausgewertet, nicht lesbar",
        ("anfrage", "parameter"),
    ),
    Concept(
        ErrorType.INVALID_REQUEST,
        "anfrage, anforderung, parameter, argument, feld, format, wert, methode, eingabe, "
        "pflichtparameter, pflichtfeld, medienformat, anfrageparameter, anfragemethode",
        "ungultig, fehlerhaft, fehlt, falsch, nicht unterstutz, unzulassig, erforderlich, "
        "nicht versteh, versteht, uberprufen, korrekt, nicht erlaubt, abgelehnt, richtig, "
        "semantisch",
    ),
)
