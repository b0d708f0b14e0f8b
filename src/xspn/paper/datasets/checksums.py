"""The git blob SHA-1 of every public file of the paper's data sets, and how it is computed."""

import hashlib


def git_blob_sha1(content: bytes | bytearray) -> str:
    r"""Return the name that git gives to a file's content: the SHA-1 of a header and the content.

    Examples:
        >>> git_blob_sha1(b"hello\n")  # as `git hash-object` prints it
        'ce013625030ba8dba906f756967f9e9ca394464a'
    """
    digest = hashlib.sha1(f"blob {len(content)}\0".encode(), usedforsecurity=False)
    digest.update(content)  # by itself: a sum of the two would be a second copy
    return digest.hexdigest()


_LISTING = """
b105ca11614356476a4b34e917add90b6186c52d bundestag17.test.data
fdf83719811d39110e59d39dd23b3557830b7e5d bundestag17.ts.data
3699c021211b3f55899c5cf1ad8a69f724e9eb70 bundestag17.valid.data
0eb4ea2b7c4ef4f845456f3dbb4dbee52e40eb14 exam-participation.test.data
e9d9c595554702951a743851de64f05fb0d00cc6 exam-participation.ts.data
b3c18db9e6a73d554d4219dfb6b325f9bab70bd3 exam-participation.valid.data
2a0cbb35789dd49812d395cfc190e09b361526ee house116.test.data
9ea24cb2c115195eef233cd74d83d1c4549dd1e3 house116.ts.data
c192188d6df7cc96b36360164d0446f8c6bb70b6 house116.valid.data
2ce856527084d978d2680f0b3309fc87a796675c senate116.test.data
23f7703dc4ee4afbc54f91fcadb0bb270f08fa44 senate116.ts.data
45c10b93d34dd00d4055593554e89099c57e6ba6 senate116.valid.data
77c1d8ea02dd25c860aeb09515e2cf8ef95edac6 conference-10-empty.test.data
9b333ae740c4088af7147c2407b021eca460895f conference-10-empty.ts.data
ef1fb2ea0187a0881405d1590665aa750d1a591c conference-10-empty.valid.data
9c288aa7dcbbc06b17da46fd6454222364c064ce counting.test.data
8194840a1f3897e9a6766f6a7e10314a87430f75 counting.ts.data
36bff2cb5ba1cc578a44a4c245b5638ac27f6273 counting.valid.data
5c209b72ee85460eca1dbffa6d40cf7990e4e578 ex-data-large.test.data
289788ec8639c06c2b90ffa5cccdf4c4177ad199 ex-data-large.ts.data
5c209b72ee85460eca1dbffa6d40cf7990e4e578 ex-data-large.valid.data
1e2d5816aaf251fd36764dc33cd3048639454c0d ex-data-small.test.data
36338b8cdd88b0f3a861f3d2f1b05e8068cf7da6 ex-data-small.ts.data
f5ce5ed8b09fa6574b0f2888390ab6b2af9238d9 ex-data-small.valid.data
d37ef9293ed04102abd3966c142ac26cfa684e02 exact.test.data
34c9dd9c430195655f7c250a1aea61ad1c8adcda exact.ts.data
484b75307c0b09620456ada26eb3fc435e7f93a6 exact.valid.data
0fc9f0b0426657c3c90e7600948dd75b2c49675b parity.test.data
3e5a45954bf42a41690fd051f322a9ac42efc82f parity.ts.data
9481216918bfc255ec2b843103224d144c0f49c3 parity.valid.data
bd3507be761ccf64e76407031c69f90fc6b981a8 threshold.test.data
5e297ab7b49ebf606812aa828af4443a76adf7bc threshold.ts.data
a21a01d2cf3ff5906890e6137f90f1c799b6d896 threshold.valid.data
127d1f67947bf06d872b2a6c5178374727df8233 nltcs.test.data
8c47cc2d814ec699f6d509d4a77dd10ffa2f8a33 nltcs.train.data
717b851a5d543747dd0e7eab65af54b01ecb52ff nltcs.valid.data
e1e04c157a53499fc94c67279cc98963ab38c156 plants.test.data
3e6263dd8dc8ea93d37db22b05334b0a9b862f29 plants.train.data
1a4fe9824e52a573ff7386786caf765f804cdf19 plants.valid.data
98f636014c6a37f58243f71684548445df04d787 cwebkb.test.data
569179f63ac2795dc1b65ab59165c58abedc49c7 cwebkb.train.data
38539a369cbf1edcf4be0948c5977e7174a045fd cwebkb.valid.data
49fd68acfdb4772356bcba14a6e0a2470d641d7a msnbc.test.data
db2f5c53ef25794a0f14180d388538a62cfec39e msnbc.train.data
c1feb3683cd12e8c589adb71c34639c9af562b36 msnbc.valid.data
087a5804bac832459e4221b0e8663039d1b5ee69 kdd.test.data
09af7e69c90a2e3bcff23f794ecb141f189c4671 kdd.train.data
177900b0f28fc85c9fabe1369223af846ab36887 kdd.valid.data
3e07f701215c85bd4368828074567218c8e1ab9b baudio.test.data
53b36fd25aab0415e83d7d0b68979404b11a0eb0 baudio.train.data
049656e05dec8a816429a2fb250b5ed1f7168eae baudio.valid.data
cb8e29d787084cf9d511355fbc9ac747ca2860ec jester.test.data
bfb2d367627f73eccea33606e8f0633970d7a59a jester.train.data
48e7a863427503785fe8509c7261cb821cee6c68 jester.valid.data
f6cacdc6cf931a2b5ab6ac95179645fe4cb9380c bnetflix.test.data
606d88a4cde4259f0f88f803c8f19a6452ee6137 bnetflix.train.data
404b00dcc9a8907cd50b3872d5944a5bc5870a65 bnetflix.valid.data
b7c6804dd2ceba1fbff3308516f4748f5d989698 msweb.test.data
939c8391c77e4764c74553b011ba7ced924337de msweb.train.data
75598aae35655b504670a3b65c311ec0a8f1a9e9 msweb.valid.data
90460f56e012e5225467a7459e8e0ba1d34d2679 book.test.data
7d0e649e4a8952c5454faa29db786d820865ca18 book.train.data
e5a98a673dd4ed0f17fd4bec975a49ca122174b4 book.valid.data
25ff1e5d35f133d0f28f1b511c62b58761e9ca68 accidents.test.data
cefacb1816aec82768b2786006b3999d008def9f accidents.train.data
e7ac288dfa26a82b3dcf75ebe0812be98672d459 accidents.valid.data
351fb8695ffb6ad5fd68dbed4748afd2e84bce54 dna.test.data
b729aff6209c07a4c60cb8d6393417af56fb244e dna.train.data
15ffc8398c8ff51f9b7967446a925470a7e34734 dna.valid.data
03b9a4b9629ec560d5a95dfb711a468d3d497fef kosarek.test.data
cc9c549b93a3636961debfa59f0dc84df93d4c53 kosarek.train.data
a375a72b21c7bb919bce47da1b0537d3d146a186 kosarek.valid.data
4fef8f225876bd9aa1c97386af884d5e4505350b pumsb_star.test.data
eca57d4a6cdc40abab4114af140729006633de75 pumsb_star.train.data
91be6ddbef7e241f9cefcb1ae3e3ffabf3044b07 pumsb_star.valid.data
c785a1a267b5708123abd24bbd9792be2a4ba7e1 tretail.test.data
52c82ac6a4c9c9a301bcc461335aac0f14c6d682 tretail.train.data
82682d4997829b5d991e56770fd6a6f447553d8b tretail.valid.data
6b610f57b64eb51c4886bc7e29900d4d0bd45870 tmovie.test.data
7a356abaa5203208127ec5972cf3792bd8d225b3 tmovie.train.data
6920f039750d26f81132dc4a3a3c83b0f2eba8bb tmovie.valid.data
5782a91c6fe31e6989780651145a25cfda052214 bbc.test.data
1109ad0cb67d2f1e6fd964a1efe6827b1145d1dc bbc.train.data
ac5335071ced6f53a9990c79e5b397d973c00c07 bbc.valid.data
1a6ecad267097c75cfb9d9b9d36281bcb0c2a162 ad.test.data
b9dfaba77f2cea10c30a2c3c3d6c80f84d811334 ad.train.data
28dfd43ad1234f7b62ad4a560bd918327a6e39bf ad.valid.data
c767f717205a4fe334815161a07e74a107ca9f2c c20ng.test.data
b5d2937144d0d1340f14c53c807b83f79be21bbd c20ng.train.data
02fd664e4bbba182a6bf769e25ba7c238307da70 c20ng.valid.data
4f63c683574db34184e89e8a9b850454a835c5fc cr52.test.data
5a132a4c54dc99a9966d9cf00fea63da5d88fa3d cr52.train.data
b35d4b1ab487e32843212bac3abf1a0fcd444a28 cr52.valid.data
"""

CHECKSUMS: dict[str, str] = {name: sha1 for sha1, name in (line.split() for line in _LISTING.split("\n") if line)}
