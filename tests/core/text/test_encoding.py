import pytest

from core.text.encoding import decode

JAPANESE = "見積書の合計金額は三万二千円です。納期は来週の金曜日です。"
CHINESE = "人人生而自由,在尊严和权利上一律平等。他们赋有理性和良心。"
TRADITIONAL = "人人生而自由,在尊嚴和權利上一律平等。他們賦有理性和良心。"
KOREAN = "모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다."
RUSSIAN = "Все люди рождаются свободными и равными в своем достоинстве и правах."
GREEK = "Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια."
HEBREW = "כל בני האדם נולדו בני חורין ושווים בערכם ובזכויותיהם."
ARABIC = "يولد جميع الناس أحرارا متساوين في الكرامة والحقوق"


@pytest.mark.parametrize(
    "text",
    [
        "The café’s “net margin” is 12 % – see §4 (€500).",
        "Größe",
        "## können\n\näöüß",
        "é",
        "naïve façade, El Niño, Ærø, Łódź"[:24],
        "1 °C ± 0,5 µm, 3 × 4",
    ],
)
def test_a16_windows_1252(text):
    decoded = decode(text.encode("cp1252"))
    assert (decoded.text, decoded.encoding, decoded.warnings) == (text, "cp1252", ())


@pytest.mark.parametrize("encoding", ["cp932", "euc_jp", "iso2022_jp"])
def test_a17_shift_jis_and_other_japanese(encoding):
    assert decode(JAPANESE.encode(encoding))[:2] == (JAPANESE, encoding)


def test_a17_names_in_kanji_only():
    text = "名前,年齢,住所\n佐藤太郎,30,東京\n髙橋淳,35,名古屋\n"
    assert decode(text.encode("cp932")).text == text


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (CHINESE, "gb18030"),
        (TRADITIONAL, "big5"),
        (KOREAN, "cp949"),
        (RUSSIAN, "cp1251"),
        (RUSSIAN, "koi8_r"),
        (GREEK, "cp1253"),
        (HEBREW, "cp1255"),
        (ARABIC, "cp1256"),
    ],
)
def test_encodings_of_other_scripts(text, encoding):
    assert decode(text.encode(encoding)).text == text
    assert decode(("<p class='x'>" + text + "</p>\n").encode(encoding)).text == "<p class='x'>" + text + "</p>\n"


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32", "utf-16-be", "utf-16-le", "utf-32-le"])
def test_a18_marks_and_wide_encodings(encoding):
    text = "Keyword\tVolume\nblue valve é\t4400\n"
    assert decode(text.encode(encoding)).text == text


def test_a18_the_mark_ff_fe_00_00_is_utf_32_and_utf_16_with_a_nul_first_is_not():
    assert decode(b"\xff\xfe\0\0" + "Doylestown".encode("utf-32-le"))[:2] == ("Doylestown", "utf-32-le")
    assert decode(b"\xff\xfe\0\0a\0")[:2] == ("\0a", "utf-16-le")


def test_a18_big_endian_marks():
    assert decode(b"\xfe\xff" + "añb".encode("utf-16-be"))[:2] == ("añb", "utf-16-be")
    assert decode(b"\0\0\xfe\xff" + "añb".encode("utf-32-be"))[:2] == ("añb", "utf-32-be")


def test_utf_16_without_a_mark_and_without_ascii():
    assert decode(JAPANESE.encode("utf-16-le")).text == JAPANESE


@pytest.mark.parametrize(("tail", "encoding"), [("é€".encode(), "utf-8"), ("é€".encode("cp1252"), "cp1252")])
def test_a19_a_late_byte_decides(tail, encoding):
    decoded = decode(b"plain ascii line\n" * 70_000 + tail)
    assert (decoded.encoding, decoded.text[-2:]) == (encoding, "é€")


def test_a19_mixed_bytes_are_replaced_and_said():
    decoded = decode("Valid ünïcode line\n".encode() + b"Latin caf\xe9\n")
    assert decoded.text == "Valid ünïcode line\nLatin caf\ufffd\n"
    assert decoded.warnings == ("holds 1 place that is not valid utf-8; shown as \ufffd",)


def test_what_the_file_declares_counts_only_if_the_bytes_agree():
    arabic = "الاتحاد الجزائري".encode("iso8859-6")
    assert decode(arabic, "ISO-8859-6").text == "الاتحاد الجزائري"
    assert decode("Größe".encode(), "iso-8859-1").text == "Größe"
    assert decode("€".encode("cp1252"), "iso-8859-1").text == "€"
    assert decode("Größe".encode("cp1252"), "utf-8").text == "Größe"
    assert decode("Größe".encode("cp1252"), "no-such-encoding").text == "Größe"
    assert decode("Größe".encode("cp1252"), "base64").text == "Größe"


def test_nothing_is_text_too():
    assert decode(b"") == ("", "utf-8", ())


@pytest.mark.timeout(10)
def test_an_endless_line_takes_no_endless_time():
    assert decode(b"a" * 3_000_000 + b"\xe9")[1] == "cp1252"
    assert decode(b"a" * 1000 + JAPANESE.encode("cp932") * 50_000)[1] == "cp932"


def test_every_byte_becomes_something():
    assert len(decode(bytes(range(256))).text) == 256
