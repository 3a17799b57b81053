"""French, written without accents, by the beginnings of words."""

from __future__ import annotations

from lastword.core.classify.concepts import Concept
from lastword.core.failure.taxonomy import ErrorType

CONCEPTS = (
    Concept(
        ErrorType.AUTH,
        "compte",
        "banni, suspendu, bloqu, desactiv",
    ),
    Concept(
        ErrorType.AUTH,
        "region, pays, emplacement, localisation, geographique",
        "pas pris en charge, pas disponible, restriction, non pris en charge, ne prend pas, bloqu",
    ),
    Concept(
        ErrorType.CONTEXT_OVERFLOW,
        "contexte, requete, message, entree, invite, prompt, conversation, texte, jeton, token, "
        "longueur, contenu, donnees de, historique, nombre de jetons, nombre de tokens, echange",
        "trop long, trop grand, trop volumineu, depass, excede, trop de jetons, trop de tokens, "
        "plein, ne tient pas, saturee, superieur, trop important",
        (
            *("par minute", "taux", "delai", "debit", "quota", "par jour", "limite de requetes"),
            *("temps", "trop de requetes", "nombre de requetes", "duree"),
        ),
    ),
    Concept(
        ErrorType.CONTENT_FILTER,
        "contenu, politique, securite, moderation, filtre, inapproprie, regles, conditions, "
        "charte, sensible, nuisible, interdit",
        "bloqu, rejet, enfrei, viol, refus, filtr, contient, detect, arret, contraire, signale, "
        "ne respecte pas, contenant, censur",
        ("api", "acces", "connexion", "cle", "connecter"),
    ),
    Concept(
        ErrorType.CONTENT_FILTER,
        "modele",
        "refuse de, a refuse, refuse cette",
    ),
    Concept(
        ErrorType.CONTENT_FILTER,
        "reformul",
        "",
    ),
    Concept(
        ErrorType.BUDGET,
        "credit, solde, quota, abonnement, forfait, budget, facturation, paiement, essai, "
        "gratuit, mensuel, journalier, quotidien, hebdomadaire, aujourd'hui, ce mois, "
        "utilisation, points, offre, plan, limite d'utilisation, jour, payant, allocation",
        "epuise, insuffisant, depass, attein, expir, recharg, terminee, termine, mettre a niveau, "
        "passer a, passez a, manqu, necessaire, requis, echou, limite, vide, consomme, impaye, "
        "achet, augmenter, superieur, renouvel, mettez a niveau, plus de",
        (
            *("par minute", "par seconde", "session", "delai", "requetes par"),
            *("limite de requetes", "trop de"),
        ),
    ),
    Concept(
        ErrorType.RATE_LIMIT,
        "requete, demande, message, envoi, tentative, taux, appel, debit, frequen, "
        "limite de requetes, rythme, envoyez",
        "trop de, trop rapid, trop frequen, limite, depass, attein, trop nombreu, trop vite, "
        "trop souvent, simultan, frequente, frequent",
        ("delai", "trop long", "temps d'attente"),
    ),
    Concept(
        ErrorType.PROTOCOL_ERROR,
        "reponse",
        "invalide, non valide, inattendu, illisible, mal formee, vide",
    ),
    Concept(
        ErrorType.INVALID_REQUEST,
        "requete, demande",
        "mal formee, malformee, mal formule",
    ),
    Concept(
        ErrorType.INVALID_REQUEST,
        "fonctionnalite, outil, outils, image, images, visuel, audio, appels de fonction",
        "ne prend pas en charge, ne supporte pas, pas pris en charge, pas prise en charge, "
        "pas compatible",
    ),
    Concept(
        ErrorType.MODEL_NOT_FOUND,
        "modele",
        "introuvable, n'existe pas, pas pris en charge, non pris en charge, inconnu, invalide, "
        "pas disponible pour, pas disponible, non disponible, obsolete, supprime, retire, "
        "desactive, pas trouve, non trouve, pas acces, selectionne, choisi, pas installe, "
        "aucun modele, ne peut pas etre trouve, pas pu etre trouve, non valide",
        ("momentanement", "temporairement", "surcharg", "actuellement", "region", "repond"),
    ),
    Concept(
        ErrorType.AUTH,
        "licence, cle api, cle d'api, cle, jeton, token, session, authentif, autoris, "
        "identifiant, acces, mot de passe, compte, connecter, connecte, connexion requise, login, "
        "droits, permission, reconnecter, code d'acces, signature, s'identifier, autorisation",
        "invalide, expir, incorrect, manqu, refus, requis, echou, echec, absent, pas, aucun, "
        "aucune, vide, veuillez, devez, necessaire, erreur, revoqu, verifi, interdit, suspendu, "
        "non, desactive, insuffisan, faut, nouveau, bloqu, n'est, rejete, errone",
        ("reseau", "internet", "serveur", "json", "nombre maximal"),
    ),
    Concept(
        ErrorType.AUTH,
        "reconnectez-vous, connectez-vous, veuillez vous connecter, veuillez vous reconnecter, "
        "rejete votre requete, refuse votre requete, rejete votre demande, refuse votre demande, "
        "authentification, vous identifier, cle api",
        "",
        ("reseau",),
    ),
    Concept(
        ErrorType.PROTOCOL_ERROR,
        "erreur d'analyse, erreur lors de l'analyse, erreur de parsing, impossible d'analyser, "
        "json invalide",
        "",
    ),
    Concept(
        ErrorType.INVALID_REQUEST,
        "format de media, format media, ne comprend pas, telle quelle, autre approche, "
        "approche differente",
        "",
    ),
    Concept(
        ErrorType.AGENT_CRASH,
        "processus, agent, programme, commande, executable, application",
        "arret, termine, code de sortie, plant, quitte, introuvable, demarr, reconnu, inattendu, "
        "avec le code, code d'erreur",
        ("requete",),
    ),
    Concept(
        ErrorType.AGENT_CRASH,
        "commande interne ou externe, aucun fichier ou dossier, "
        "le fichier specifie est introuvable",
        "",
    ),
    Concept(
        ErrorType.TIMEOUT,
        "delai, temps d'attente, temps imparti, expiration",
        "depass, ecoule, expir, attente, imparti, atteint, trop long",
    ),
    Concept(
        ErrorType.TIMEOUT,
        "a temps, trop de temps, pas repondu, n'a pas recu de reponse, requete a expire, "
        "demande a expire, trop longtemps, a expire avant, a expire en attendant, "
        "serveur a expire, timeout, pas de reponse, aucune reponse",
        "",
        ("session", "abonnement"),
    ),
    Concept(
        ErrorType.PROVIDER_UNAVAILABLE,
        "passerelle, gateway, en amont",
        "erreur, echou",
        ("connexion", "requete"),
    ),
    Concept(
        ErrorType.NETWORK,
        "connexion, connecter, reseau, internet, hote, proxy, flux, dns, joindre, hors ligne, "
        "socket, certificat, communication",
        "echec, echou, erreur, perdu, interromp, impossible, verifi, refus, aucune, coup, "
        "instable, ferme, pas de, reinitialis, rompu, inconnu, a ete, problem, pas pu, ne peut, "
        "injoignable",
    ),
    Concept(
        ErrorType.PROVIDER_UNAVAILABLE,
        "serveur, service, modele, systeme, passerelle, fournisseur, plateforme, assistant, l'ia",
        "indisponible, surcharg, erreur, maintenance, momentane, temporaire, probleme, difficult, "
        "occupe, panne, pas disponible, ne repond pas, interne, ne peut pas, incapable, "
        "pas en mesure, sature, dysfonction, perdu, hors service, defaill",
    ),
    Concept(
        ErrorType.PROVIDER_UNAVAILABLE,
        "temporairement indisponible, maintenance en cours, momentanement indisponible, "
        "indisponible pour le moment, surcharge, erreur de passerelle, erreur interne",
        "",
    ),
    Concept(
        ErrorType.PROTOCOL_ERROR,
        "reponse, json, donnees, sortie, bloc, message",
        "analys, invalide, inattendu, format, illisible, interpret, lire la reponse, decod, "
        "parser, mal formee, vide",
        ("requete invalide", "parametre", "demande invalide"),
    ),
    Concept(
        ErrorType.INVALID_REQUEST,
        "requete, demande, parametre, argument, champ, format, valeur, methode, corps, media",
        "invalide, incorrect, manquant, obligatoire, non pris en charge, mal form, erron, requis, "
        "ne comprend pas, non valide, inconnu, pas pris en charge, ne prend pas en charge, "
        "semantique, corrects, rejet",
    ),
)
