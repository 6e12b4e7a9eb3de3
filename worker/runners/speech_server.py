"""Speech behind OpenAI's audio paths: a Piper voice speaks, a Whisper model in CTranslate2's form listens.

Run by path with `python -I speech_server.py --model DIRECTORY --alias NAME --port P`, in an environment that has
piper-tts (GPL-3.0-or-later: hence a process of its own, and no dependency of ours) and faster-whisper (MIT).
"""

import io
import pathlib
import sys
import wave

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from small_server import Answer, Failed, Refused, Turn, as_json, library, parser, run

PROG = "speech_server"
MOST_CHARACTERS = 4096
LONGEST_PIECE = 200
"""Characters that go through the voice at once: 4000 in one sentence were seen to take 5.4 GB and two minutes."""
PCM_RATE = 24000
"""OpenAI's raw PCM has this rate, whatever the voice has."""
KINDS = {
    "mp3": "audio/mpeg",
    "opus": "audio/ogg",
    "aac": "audio/aac",
    "flac": "audio/flac",
    "wav": "audio/wav",
    "pcm": "audio/pcm",
}
CODECS = {
    "mp3": ("mp3", "libmp3lame", 24000, "s16p"),
    "opus": ("ogg", "libopus", 48000, "s16"),
    "aac": ("adts", "aac", 24000, "fltp"),
    "flac": ("flac", "flac", None, "s16"),
}
"""Container, encoder, rate (None: the voice's own) and form of samples."""
WRITTEN = ("json", "text", "srt", "verbose_json", "vtt")


def load(given):
    folder = pathlib.Path(given.model)
    voices = sorted(each for each in folder.glob("*.onnx") if each.with_name(f"{each.name}.json").is_file())
    if len(voices) == 1:
        return {"/v1/audio/speech": Voice(voices[0]).speak}
    if len(voices) > 1:
        raise Failed(f"{folder} holds several voices: {', '.join(each.name for each in voices[:10])}")
    if not (folder / "model.bin").is_file():
        raise Failed(f"{folder} holds neither a Piper voice (NAME.onnx and NAME.onnx.json) nor a model.bin of Whisper")
    ear = Ear(folder, given.threads)
    return {"/v1/audio/transcriptions": ear.transcribe, "/v1/audio/translations": ear.translate}


class Voice:
    def __init__(self, path):
        piper = library(lambda: __import__("piper", fromlist=["PiperVoice"]))
        self.voice = piper.PiperVoice.load(str(path))
        self.settings = piper.SynthesisConfig
        self.config = self.voice.config
        self.turn = Turn()

    def speak(self, asked):
        text = asked.text("input") or ""
        if not text.strip() or len(text) > MOST_CHARACTERS:
            raise Refused(400, f"input must be a text of 1 to {MOST_CHARACTERS} characters", param="input")
        if asked.text("stream_format", "audio") != "audio":
            raise Refused(400, "stream_format must be audio", param="stream_format")
        kind = asked.one_of("response_format", tuple(KINDS), "mp3")
        speed = asked.number("speed", 1.0, 0.25, 4.0)
        settings = self.settings(speaker_id=self.speaker(asked), length_scale=self.config.length_scale / speed)
        with self.turn:
            spoken = (each for piece in pieces_of(text) for each in self.voice.synthesize(piece, settings))
            samples = b"".join(each.audio_int16_bytes for each in spoken)
        return Answer(encoded(samples, self.config.sample_rate, kind), KINDS[kind])

    def speaker(self, asked):
        """Of a voice that has one speaker every name is the name."""
        if self.config.num_speakers < 2:
            return None
        known = self.config.speaker_id_map or {str(each): each for each in range(self.config.num_speakers)}
        name = asked.text("voice", next(iter(known)))
        if name not in known:
            raise Refused(400, f"voice must be one of {', '.join(list(known)[:50])}", param="voice")
        return known[name]


def pieces_of(text):
    """Whole lines where they are short enough, else cut where a sentence ends, at a comma, at a space, anywhere."""
    for line in text.splitlines():
        rest = line.strip()
        while rest:
            at = cut_of(rest[:LONGEST_PIECE]) if len(rest) > LONGEST_PIECE else len(rest)
            yield rest[:at].strip()
            rest = rest[at:].strip()


def cut_of(part):
    for signs in (".!?。！？", ";:；：,，、", " "):
        if (at := max(part.rfind(sign) for sign in signs) + 1) > 0:
            return at
    return len(part)


def encoded(samples, rate, kind):
    if kind == "wav":
        return as_wav(samples, rate)
    if kind == "pcm":
        return b"".join(bytes(each.planes[0])[: each.samples * 2] for each in resampled(samples, rate, PCM_RATE, "s16"))
    container_name, codec, wanted, form = CODECS[kind]
    target = io.BytesIO()
    av = library(lambda: __import__("av"))
    with av.open(target, "w", format=container_name) as container:
        stream = container.add_stream(codec, rate=wanted or rate)
        stream.layout = "mono"
        for frame in resampled(samples, rate, wanted or rate, form):
            frame.pts = None
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return target.getvalue()


def as_wav(samples, rate):
    target = io.BytesIO()
    with wave.open(target, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(samples)
    return target.getvalue()


def resampled(samples, rate, wanted, form):
    av = library(lambda: __import__("av"))
    frame = av.AudioFrame(format="s16", layout="mono", samples=len(samples) // 2)
    frame.planes[0].update(samples + bytes(frame.planes[0].buffer_size - len(samples)))
    frame.sample_rate = rate
    resampler = av.AudioResampler(format=form, layout="mono", rate=wanted)
    return [*resampler.resample(frame), *resampler.resample(None)]


class Ear:
    def __init__(self, folder, threads):
        whisper = library(lambda: __import__("faster_whisper"))
        try:
            self.model = whisper.WhisperModel(str(folder), device="cpu", compute_type="int8", cpu_threads=threads)
        except (RuntimeError, ValueError) as error:
            raise Failed(f"{folder} could not be served: {error}") from error
        self.turn = Turn()

    def transcribe(self, asked):
        return self.heard(asked, "transcribe")

    def translate(self, asked):
        """Into English. A model of English alone writes down what it hears, which is English already."""
        return self.heard(asked, "translate" if self.model.model.is_multilingual else "transcribe")

    def heard(self, asked, task):
        form = asked.one_of("response_format", WRITTEN, "json")
        by_word = "word" in asked.fields.get("timestamp_granularities[]", [])
        options = {
            "task": task,
            "language": self.language(asked),
            "initial_prompt": asked.text("prompt") or None,
            "temperature": asked.number("temperature", 0.0, 0.0, 1.0),
            "word_timestamps": by_word,
        }
        sound = asked.files.get("file")
        if not sound:
            raise Refused(400, "file must be a sound file", param="file")
        if asked.says("stream") and form in {"json", "text"}:
            return Answer(frames=self.piece_by_piece(sound, options))
        with self.turn:
            pieces, told = self.listen(sound, options)
            pieces = list(pieces)
        return written(form, task, pieces, told, by_word=by_word)

    def language(self, asked):
        given = asked.text("language") or None
        if given is not None and given not in self.model.supported_languages:
            known = ", ".join(sorted(self.model.supported_languages)[:100])
            raise Refused(400, f"language must be one of {known}", param="language")
        return given

    def listen(self, sound, options):
        try:
            return self.model.transcribe(io.BytesIO(sound), **options)
        except (ValueError, OSError, RuntimeError, IndexError) as error:
            raise Refused(400, f"the file could not be read as sound: {error}", "invalid_file", "file") from error

    def piece_by_piece(self, sound, options):
        with self.turn:
            pieces, told = self.listen(sound, options)
            said = []
            for piece in pieces:
                said.append(piece.text)
                yield {"type": "transcript.text.delta", "delta": piece.text}
        text = "".join(said).strip()
        yield {"type": "transcript.text.done", "text": text, "usage": usage_of(told)}


def usage_of(told):
    return {"type": "duration", "seconds": round(told.duration, 3)}


def written(form, task, pieces, told, *, by_word):
    text = "".join(each.text for each in pieces).strip()
    if form == "json":
        return as_json({"text": text, "usage": usage_of(told)})
    if form == "verbose_json":
        return as_json(in_full(task, text, pieces, told, by_word=by_word))
    lines = {"text": lambda: f"{text}\n", "srt": lambda: subtitles(pieces), "vtt": lambda: captions(pieces)}[form]()
    return Answer(lines.encode(), "text/plain; charset=utf-8")


def in_full(task, text, pieces, told, *, by_word):
    words = [
        {"word": each.word, "start": each.start, "end": each.end} for piece in pieces for each in piece.words or ()
    ]
    return {
        "task": task,
        "language": told.language,
        "duration": round(told.duration, 3),
        "text": text,
        "segments": [segment(each) for each in pieces],
        **({"words": words} if by_word else {}),
        "usage": usage_of(told),
    }


def segment(piece):
    names = ("id", "seek", "start", "end", "text", "temperature", "avg_logprob", "compression_ratio", "no_speech_prob")
    return {name: getattr(piece, name) for name in names} | {"tokens": list(piece.tokens)}


def subtitles(pieces):
    blocks = (f"{number}\n{span(each, ',')}\n{each.text.strip()}\n" for number, each in enumerate(pieces, 1))
    return "\n".join(blocks)


def captions(pieces):
    return "\n".join(["WEBVTT\n", *(f"{span(each, '.')}\n{each.text.strip()}\n" for each in pieces)])


def span(piece, point):
    return f"{clock(piece.start, point)} --> {clock(piece.end, point)}"


def clock(seconds, point):
    milliseconds = round(seconds * 1000)
    minutes, rest = divmod(milliseconds, 60_000)
    return f"{minutes // 60:02}:{minutes % 60:02}:{rest // 1000:02}{point}{rest % 1000:03}"


def main(argv):
    return run(PROG, argv, parser(PROG), load)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
