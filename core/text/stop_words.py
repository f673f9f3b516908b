"""Words that carry no topic: searched only where a query has nothing else. Stems and accents are folded already.

A query's language is the list that most of its words are in; "die" is dropped from a German question and kept in an
English one.
"""

from __future__ import annotations

from collections.abc import Sequence


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


ENGLISH = _words(
    """
    a about above after again against all am an and any are aren as at be because been before being below between
    both but by can cannot cant could couldn did didn didnt do does doesn doesnt doing don dont down during each
    few for from further had hadn hadnt has hasn hasnt have haven havent having he her here hers herself him
    himself his how i if in into is isn isnt it its itself just let me more most mustn my myself no nor not now of
    off on once only or other our ours ourselves out over own same shan she should shouldn shouldnt so some such
    than that the their theirs them themselves then there these they this those through to too under until up very
    was wasn wasnt we were weren werent what when where which while who whom whose why will with won wont would
    wouldn wouldnt you your yours yourself yourselves also please tell give shall may might must
    """
)
GERMAN = _words(
    """
    aber alle allem allen aller alles als also am an auch auf aus bei beim bin bis bist da damit dann das dass dem
    den denn der des die dies diese diesem diesen dieser dieses doch dort du durch ein eine einem einen einer
    eines er es etwas euch fur gegen haben hat hatte hier hinter ich ihm ihn ihnen ihr ihre im in indem ins ist ja
    jede jedem jeden jeder jedes jener kann kein keine konnen machen man mehr mein mich mir mit muss nach nicht
    nichts noch nun nur ob oder ohne sehr sein seine sich sie sind so soll sollte sondern sonst uber um und uns
    unter viel vom von vor wahrend war waren warum was weil welche welcher welches wem wen wenn wer werde werden
    wie wieder will wir wird wo wurde wurden zu zum zur zwischen bitte
    """
)
FRENCH = _words(
    """
    a au aux avec c ce ces cette comment d dans de des du elle elles en est et etait etaient ete etre eu eux fait
    il ils j je l la le les leur leurs lui m ma mais me meme mes mon n ne nos notre nous on ont ou par pas pour
    pourquoi qu quand que quel quelle quelles quels qui quoi s sa sans se ses si son sont sur t ta te tes toi ton
    tu un une vos votre vous y
    """
)
SPANISH = _words(
    """
    a al algo ante antes como con contra cual cuales cuando cuanto de del desde donde durante e el ella ellas
    ellos en entre era eran es esa esas ese eso esos esta estaba estan estas este esto estos fue fueron ha han
    hasta hay la las le les lo los mas me mi mis mucho muy nada ni no nos nosotros o os otra otro para pero poco
    por porque que quien se ser si sin sobre son su sus tambien tanto te tiene tu tus un una uno unos y ya yo
    """
)
ITALIAN = _words(
    """
    a ad agli ai al alla alle allo anche c che chi ci come con cosa da dagli dai dal dalla dalle dei del della
    delle dello di do dove e ed era erano gli ha hanno i il in io l la le lo ma mi ne negli nei nel nella nelle
    non o per perche piu quale quali quando quanto quella quello questa questo se si sono su sua sue sul sulla suo
    tra tu un una uno
    """
)
PORTUGUESE = _words(
    """
    a ao aos as ate com como da das de dela dele do dos e ela elas ele eles em entre era eram essa esse esta este
    eu foi foram ha isso isto ja lhe mais mas me mesmo meu minha muito na nas nao nem no nos o onde os ou para
    pela pelas pelo pelos por porque qual quando que quem se sem ser seu seus so sua suas tambem te tem um uma
    voce
    """
)
DUTCH = _words(
    """
    aan al alles als altijd andere ben bij daar dan dat de der deze die dit doch doen door dus een en er ge geen
    had heb hebben heeft hem het hier hij hoe hun ik in is ja je kan kon maar me meer men met mij mijn moet na
    naar niet niets nog nu of om omdat onder ons ook op over te tegen toch toen tot u uit uw van veel voor waarom
    waar want waren was wat welke werd wie wij wil worden wordt zal ze zelf zich zij zijn zo zonder zou
    """
)
LANGUAGES = (ENGLISH, GERMAN, FRENCH, SPANISH, ITALIAN, PORTUGUESE, DUTCH)

# Stems that go on with a topic and name none.
FOLLOW_UP_WORDS = _words(
    "yes no ok okai sure pleas go continu more detail exampl elabor explain els again further next"
)


def stop_words_of(words: Sequence[str]) -> frozenset[str]:
    """The list that holds the most of these folded words; English where it's even or none does."""
    return max(LANGUAGES, key=lambda stop_words: sum(word in stop_words for word in words))
