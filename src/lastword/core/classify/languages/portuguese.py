"""Portuguese, written without accents, by the beginnings of words."""

from __future__ import annotations

from lastword.core.classify.concepts import Concept
from lastword.core.failure.taxonomy import ErrorType

CONCEPTS = (
    Concept(
        ErrorType.AUTH,
        "conta",
        "banid, suspens, bloquead, desativad",
    ),
    Concept(
        ErrorType.AUTH,
        "regiao, pais, localizacao",
        "nao suport, nao esta disponivel, restri, nao compativel, nao e compativel, bloquead, "
        "nao oferece",
        ("chave",),
    ),
    Concept(
        ErrorType.CONTEXT_OVERFLOW,
        "contexto, solicitacao, mensagem, entrada, prompt, conversa, texto, tokens, token, "
        "tamanho, comprimento, conteudo, requisicao, dados da, historico, numero maximo, pedido",
        "muito long, muito grande, longa demais, longo demais, grande demais, exced, ultrapass, "
        "tokens demais, cheio, nao cabe, muito extens, demasiado long, demasiado grande, super",
        (
            *("por minuto", "cota", "quota", "taxa", "tempo", "por dia", "limite de solicitac"),
            *("frequen", "limite de requisic", "numero de solicitac", "muitas"),
        ),
    ),
    Concept(
        ErrorType.CONTENT_FILTER,
        "conteudo, politica, seguranca, moderacao, filtro, inadequad, diretrizes, termos de, "
        "regras, sensivel, nociv, improprio",
        "bloque, sinalizad, rejeit, viol, recus, filtrad, contem, detect, interromp, infring, "
        "proibid, contrari",
        ("api", "acesso", "conexao", "sessao", "login", "formato"),
    ),
    Concept(
        ErrorType.CONTENT_FILTER,
        "modelo",
        "recusou, se recusa, negou-se",
    ),
    Concept(
        ErrorType.CONTENT_FILTER,
        "reformul",
        "",
    ),
    Concept(
        ErrorType.BUDGET,
        "credito, saldo, cota, quota, assinatura, plano, orcamento, cobranca, pagamento, teste, "
        "gratuit, gratis, mensal, diari, semanal, hoje, este mes, limite de uso, uso, pontos, "
        "pacote, subscricao, fundos, pago",
        "esgot, insuficiente, exced, ating, expir, vencid, recarreg, termin, atualiz, necessari, "
        "requer, falh, acab, limite, sem, nao possui, nao tem, consumid, aument, compr, adicion, "
        "adquir, alcanc, carreg",
        (
            *("por minuto", "por segundo", "sessao", "tempo limite", "limite de solicitac"),
            *("limite de requisic", "muitas", "limite de taxa"),
        ),
    ),
    Concept(
        ErrorType.RATE_LIMIT,
        "solicitac, requisic, mensage, envio, tentativas, chamada, frequencia, taxa, velocidade, "
        "pedido, limite de taxa",
        "muitas, muitos, rapido demais, muito rapid, muito frequent, limite, exced, ating, "
        "em excesso, demasiad, simultane, frequente, ultrapass",
        ("tempo", "muito long", "tamanho"),
    ),
    Concept(
        ErrorType.PROTOCOL_ERROR,
        "resposta",
        "invalid, inesperad, mal formad, malformad, ilegivel, vazia",
    ),
    Concept(
        ErrorType.INVALID_REQUEST,
        "solicitacao, requisicao, pedido",
        "mal formad, malformad",
    ),
    Concept(
        ErrorType.INVALID_REQUEST,
        "recurso, capacidade, funcao, funcoes, ferramenta, imagem, imagens, visual, audio",
        "nao oferece suporte, nao suporta, nao tem suporte, nao e suportad, nao aceita, nao e "
        "compativel",
    ),
    Concept(
        ErrorType.MODEL_NOT_FOUND,
        "modelo",
        "nao encontrad, nao existe, nao e suport, nao suport, desconhecid, invalid, "
        "nao esta disponivel, nao disponivel, indisponivel para, obsolet, descontinuad, removid, "
        "sem acesso, nao tem acesso, nao foi encontrad, nenhum modelo, selecion, nao instalad, "
        "nao foi possivel encontrar, nao compativel, nao e compativel, nao existir, "
        "nao foi possivel solicitar",
        ("temporari", "momento", "sobrecarreg", "regiao", "localizacao"),
    ),
    Concept(
        ErrorType.AUTH,
        "licenca, chave de api, chave da api, chave api, chave, token, sessao, autentica, "
        "autoriza, credencia, acesso, senha, conta, permiss, login, codigo de acesso, "
        "iniciar sessao, api key, entrar",
        "invalid, nao e mais valid, nao e valid, expir, incorret, ausente, falta, negad, "
        "necessari, falh, nenhum, nao configurad, vazi, faca, precisa, erro, revogad, verifi, "
        "proibid, suspens, nao tem, nao possui, nao esta, novamente, requer, insuficient, rejeit, "
        "recus, deve, nao foi",
        ("rede", "internet", "json", "numero maximo", "servidor"),
    ),
    Concept(
        ErrorType.AUTH,
        "acesso negado, faca login, fazer login, rejeitou sua solicitacao, "
        "recusou sua solicitacao, rejeitou o seu pedido, recusou o seu pedido, autenticacao, "
        "autenticar",
        "",
        ("rede",),
    ),
    Concept(
        ErrorType.PROTOCOL_ERROR,
        "erro ao analisar, erro de analise, erro na analise, nao foi possivel interpretar, "
        "json invalido",
        "",
    ),
    Concept(
        ErrorType.INVALID_REQUEST,
        "formato de midia, formato de multimedia, nao entende, nao compreende, conforme feit, "
        "como foi feit, outra abordagem, abordagem diferente",
        "",
    ),
    Concept(
        ErrorType.AGENT_CRASH,
        "processo, agente, programa, comando, executavel, aplicativo",
        "encerrad, terminou, finaliz, codigo de saida, inesperad, falh, nao encontrad, "
        "nao e reconhecido, iniciar, saiu, com codigo, codigo",
        ("solicitac", "api"),
    ),
    Concept(
        ErrorType.AGENT_CRASH,
        "comando interno ou externo, arquivo ou diretorio inexistente, "
        "ficheiro ou diretoria inexistente, nao pode encontrar o arquivo especificado",
        "",
    ),
    Concept(
        ErrorType.TIMEOUT,
        "tempo limite, tempo de espera, tempo, espera",
        "esgot, exced, ultrapass, expir, respond, limite, estour, atingid",
        ("sessao",),
    ),
    Concept(
        ErrorType.TIMEOUT,
        "nao respondeu a tempo, demorou demais, demorou muito, nao respondeu, "
        "nao recebeu resposta, nao recebeu uma resposta, sem resposta, tempo limite, "
        "tempo esgotado",
        "",
    ),
    Concept(
        ErrorType.PROVIDER_UNAVAILABLE,
        "gateway",
        "erro, falh",
        ("conexao",),
    ),
    Concept(
        ErrorType.NETWORK,
        "conexao, conectar, rede, internet, host, proxy, fluxo, dns, ligacao, ligar, certificado, "
        "comunicacao",
        "falh, erro, perdi, interromp, nao foi possivel, verifi, recusad, recusou, sem, instavel, "
        "fechad, redefinid, nao ha, desconhecid, problema, impossivel, nao e conhecido, "
        "cancelamento, encerrad, inesperad, caiu, inst",
    ),
    Concept(
        ErrorType.PROVIDER_UNAVAILABLE,
        "servidor, servico, modelo, sistema, gateway, provedor, fornecedor, a ia",
        "indisponivel, nao disponivel, nao esta disponivel, sobrecarreg, erro, manutencao, "
        "temporari, problema, dificuldade, ocupad, fora do ar, nao responde, interno, "
        "nao consegue, incapaz, nao pode, instab, perdid, lotad",
    ),
    Concept(
        ErrorType.PROVIDER_UNAVAILABLE,
        "em manutencao, sobrecarregado, temporariamente indisponivel, indisponivel no momento, "
        "erro interno, erro de gateway",
        "",
    ),
    Concept(
        ErrorType.PROTOCOL_ERROR,
        "resposta, json, dados, saida, bloco, mensagem",
        "analis, invalid, inesperad, formato, interpret, ler a resposta, processar a resposta, "
        "mal formad, vazi",
        ("solicitacao invalida", "requisicao invalida", "parametro"),
    ),
    Concept(
        ErrorType.INVALID_REQUEST,
        "solicitac, requisic, pedido, parametro, argumento, campo, formato, valor, metodo, corpo",
        "invalid, incorret, ausente, obrigatori, nao suport, mal formad, requerid, nao entend, "
        "errad, falta, nao compreend, nao permitid, semantic, corret, nao e suport",
    ),
)
