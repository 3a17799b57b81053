"""Spanish, written without accents, by the beginnings of words."""

from __future__ import annotations

from lastword.core.classify.concepts import Concept
from lastword.core.failure.taxonomy import ErrorType

CONCEPTS = (
    Concept(
        ErrorType.AUTH,
        "cuenta",
        "bloquead, suspendid, desactivad, banead, inhabilitad",
    ),
    Concept(
        ErrorType.AUTH,
        "region, pais, ubicacion, zona",
        "no compatible, no disponible, restriccion, no soport, no admite, no es compatible, "
        "bloquead, no esta disponible, no se admite",
        ("clave",),
    ),
    Concept(
        ErrorType.CONTEXT_OVERFLOW,
        "contexto, solicitud, mensaje, entrada, prompt, conversacion, texto, tokens, token, "
        "longitud, contenido, peticion, datos de, historial, numero maximo",
        "demasiado larg, demasiado grande, demasiado extens, super, exced, sobrepas, "
        "demasiados tokens, esta llen, no cabe, excesivamente larg, muy larg, muy grande",
        (
            *("por minuto", "cuota", "tasa", "tiempo", "por dia", "limite de solicitudes"),
            *("frecuen", "limite de peticiones", "numero de solicitudes", "demasiadas solicitudes"),
        ),
    ),
    Concept(
        ErrorType.CONTENT_FILTER,
        "contenido, politica, seguridad, moderacion, filtro, inapropiad, normas, pautas, "
        "condiciones, directrices, sensible, danin",
        "bloque, marcad, rechaz, infring, viol, incumpl, filtrad, contiene, detect, deteni, "
        "prohib, contrari, contenga, denegad",
        ("api", "acceso", "conexion", "sesion"),
    ),
    Concept(
        ErrorType.CONTENT_FILTER,
        "modelo",
        "se nego a, se niega a, rechazo responder, se ha negado",
    ),
    Concept(
        ErrorType.CONTENT_FILTER,
        "reformul",
        "",
    ),
    Concept(
        ErrorType.BUDGET,
        "credito, saldo, cuota, suscripcion, plan, presupuesto, facturacion, pago, prueba, "
        "gratuit, gratis, mensual, diari, semanal, hoy, este mes, limite de uso, uso, puntos, "
        "paquete, fondos, hasta manana, de pago",
        "agot, insuficiente, super, alcanz, caduc, vencid, expir, recarg, termin, actualiz, "
        "necesari, requier, fall, acab, limite, actualic, vaci, no tiene, no tienes, consumid, "
        "exced, aument, comprar, finaliz, sin",
        (
            *("por minuto", "por segundo", "sesion", "tiempo de espera", "limite de solicitudes"),
            *("limite de peticiones", "demasiad"),
        ),
    ),
    Concept(
        ErrorType.RATE_LIMIT,
        "solicitud, peticion, mensaje, envio, intentos, llamada, frecuencia, velocidad, tasa, "
        "limite de velocidad, ritmo",
        "demasiadas, demasiados, demasiado rapid, demasiado frecuent, limite, super, exced, "
        "alcanz, muy frecuent, muy rapid, simultane, muchas, frecuente",
        ("tiempo", "larg", "tamano"),
    ),
    Concept(
        ErrorType.PROTOCOL_ERROR,
        "respuesta",
        "invalid, no valid, inesperad, mal formad, ilegible, vacia",
    ),
    Concept(
        ErrorType.INVALID_REQUEST,
        "solicitud, peticion",
        "mal formad, malformad",
    ),
    Concept(
        ErrorType.INVALID_REQUEST,
        "capacidad, funcion, herramienta, imagen, imagenes, visual, audio",
        "no admite, no soporta, no se admite, no compatible, no es compatible, no esta soportad",
    ),
    Concept(
        ErrorType.MODEL_NOT_FOUND,
        "modelo",
        "no encontrad, no existe, no es compatible, no compatible, no soportad, desconocid, "
        "no valid, invalid, no esta disponible, no disponible, obsolet, retirad, eliminad, "
        "sin acceso, no tiene acceso, no tienes acceso, no se encontro, no se pudo encontrar, "
        "ningun modelo, seleccion, no instalad, no se ha encontrado, no admite, "
        "no pudo ser encontrado, no se admite",
        ("temporal", "momento", "sobrecarg", "region", "ubicacion", "saturad"),
    ),
    Concept(
        ErrorType.AUTH,
        "licencia, clave api, clave de api, clave, llave, token, sesion, autentica, autoriza, "
        "credencial, acceso, contrasena, cuenta, permiso, inicio de sesion, iniciar sesion, "
        "codigo de acceso, api key",
        "invalid, no valid, no es valid, ya no es valid, expir, caduc, vencid, incorrect, falta, "
        "denegad, requerid, necesari, fall, no se ha config, ningun, vaci, debes, debe, inicia, "
        "inicie, vuelv, error, revocad, verific, prohibid, suspendid, no tiene, no tienes, "
        "no esta, necesita, no se, insuficient, no dispone, comprueb, rechaz, de nuevo, compruebe",
        ("red", "internet", "json", "numero maximo", "servidor"),
    ),
    Concept(
        ErrorType.AUTH,
        "acceso denegado, inicie sesion, inicia sesion, iniciar sesion, rechazado su solicitud, "
        "rechazado tu solicitud, ha denegado, autenticacion, autenticarse",
        "",
        ("red",),
    ),
    Concept(
        ErrorType.PROTOCOL_ERROR,
        "error al analizar, error de analisis, error en la interpretacion, no se pudo analizar, "
        "json no valido",
        "",
    ),
    Concept(
        ErrorType.INVALID_REQUEST,
        "formato de medios, no entiende, no comprende, tal como se, tal y como, otro enfoque, "
        "enfoque diferente, enfoque distinto",
        "",
    ),
    Concept(
        ErrorType.AGENT_CRASH,
        "proceso, agente, programa, comando, ejecutable, aplicacion",
        "termin, finaliz, codigo de salida, inesperad, cerr, fall, no encontrad, no se reconoce, "
        "iniciar, con codigo, codigo",
        ("solicitud", "api"),
    ),
    Concept(
        ErrorType.AGENT_CRASH,
        "comando interno o externo, no existe el fichero o el directorio, "
        "no existe el archivo o el directorio, no puede encontrar el archivo especificado",
        "",
    ),
    Concept(
        ErrorType.TIMEOUT,
        "tiempo de espera, tiempo limite, tiempo maximo, tiempo, espera",
        "agot, exced, super, expir, respondi, limite, demasiado",
        ("por un tiempo", "sesion"),
    ),
    Concept(
        ErrorType.TIMEOUT,
        "no respondio a tiempo, tardo demasiado, ha tardado demasiado, no ha respondido, "
        "no recibio respuesta, no recibio una respuesta, no respondio, tiempo de espera, "
        "no ha recibido respuesta, sin respuesta, solicitud agotada",
        "",
    ),
    Concept(
        ErrorType.PROVIDER_UNAVAILABLE,
        "gateway, pasarela, puerta de enlace",
        "error, fall",
        ("conexion",),
    ),
    Concept(
        ErrorType.NETWORK,
        "conexion, conectar, red, internet, host, proxy, flujo, dns, conectarse, servidor remoto, "
        "certificado, comunicacion",
        "fall, error, perdi, perdid, interrump, no se pudo, no se puede, comprueb, compruebe, "
        "verifi, rechazad, rehusad, sin, inestable, cerrad, reinici, no hay, desconocid, revis, "
        "problema, imposible, no es posible, cortad, corto, inesperad",
    ),
    Concept(
        ErrorType.PROVIDER_UNAVAILABLE,
        "servidor, servicio, modelo, sistema, pasarela, proveedor, puerta de enlace, la ia",
        "no disponible, no esta disponible, sobrecarg, saturad, error, mantenimiento, temporal, "
        "problema, dificultad, ocupad, caid, no responde, interno, no puede, incapaz, intern, "
        "fuera de servicio, perdid, indisponible",
    ),
    Concept(
        ErrorType.PROVIDER_UNAVAILABLE,
        "en mantenimiento, sobrecargado, no disponible temporalmente, "
        "temporalmente no disponible, no esta disponible en este momento, error interno, "
        "error de puerta de enlace",
        "",
    ),
    Concept(
        ErrorType.PROTOCOL_ERROR,
        "respuesta, json, datos, salida, bloque, mensaje",
        "analiz, no valid, invalid, inesperad, formato, interpret, no se pudo leer, "
        "procesar la respuesta, analisis, mal formad, vaci",
        ("solicitud no valida", "parametro"),
    ),
    Concept(
        ErrorType.INVALID_REQUEST,
        "solicitud, peticion, parametro, argumento, campo, formato, valor, metodo, cuerpo",
        "no valid, invalid, incorrect, falta, obligatori, no compatible, mal formad, requerid, "
        "no entiende, erron, no soport, no admite, no comprend, semantic, correct, no permitid",
    ),
)
