"""A small S3: path style, version 4 signatures are checked, buckets are directories. s3.py DIRECTORY ADDRESS"""

import hashlib, hmac, os, re, sys, time, urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from xml.sax.saxutils import escape

ROOT, ADDRESS, KEY, SECRET = sys.argv[1], sys.argv[2], "benchkey", "benchsecret"
quote = lambda text: urllib.parse.quote(text, safe="-_.~")
sign = lambda key, text: hmac.new(key, text.encode(), hashlib.sha256).digest()
stamp = lambda path, form: time.strftime(form, time.gmtime(os.path.getmtime(path)))

class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, code, body=b"", **headers):
        self.send_response(code)
        for name, value in {"Content_Length": str(len(body)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def refuse(self, code, name, text):
        self.answer(code, f"<Error><Code>{name}</Code><Message>{text}</Message><RequestId>1</RequestId></Error>".encode(), Content_Type="application/xml")

    def wrong(self, url):
        found = re.match(r"AWS4-HMAC-SHA256 Credential=([^/]+)/([^,]+), ?SignedHeaders=([^,]+), ?Signature=(\w+)", self.headers.get("Authorization", ""))
        if not found or found[1] != KEY:
            return "InvalidAccessKeyId", "The AWS Access Key Id you provided does not exist in our records."
        query = "&".join(sorted(f"{quote(k)}={quote(v)}" for k, v in urllib.parse.parse_qsl(url.query, keep_blank_values=True)))
        headers = "".join(f"{name}:{' '.join((self.headers.get(name) or '').split())}\n" for name in found[3].split(";"))
        request = "\n".join([self.command, url.path, query, headers, found[3], self.headers.get("x-amz-content-sha256", "")])
        secret = ("AWS4" + SECRET).encode()
        for part in found[2].split("/"):
            secret = sign(secret, part)
        if sign(secret, "\n".join(["AWS4-HMAC-SHA256", self.headers.get("x-amz-date", ""), found[2], hashlib.sha256(request.encode()).hexdigest()])).hex() != found[4]:
            return "SignatureDoesNotMatch", "The request signature we calculated does not match the signature you provided. Check your key and signing method."

    def serve(self):
        data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True))
        bucket, _, key = urllib.parse.unquote(url.path).lstrip("/").partition("/")
        root, path = os.path.join(ROOT, bucket), os.path.join(ROOT, bucket, key)
        if wrong := self.wrong(url):
            return self.refuse(403, *wrong)
        if not bucket or not os.path.isdir(root):
            return self.refuse(404, "NoSuchBucket", "The specified bucket does not exist")
        if not key:
            return self.bucket(root, query, data)
        if self.command == "PUT":
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(data)
            return self.answer(200, ETag='"1"')
        if not os.path.isfile(path):
            return self.refuse(404, "NoSuchKey", "The specified key does not exist.")
        if self.command == "DELETE":
            os.remove(path)
            return self.answer(204)
        content, usual = open(path, "rb").read(), {"ETag": '"1"', "Last_Modified": stamp(path, "%a, %d %b %Y %H:%M:%S GMT")}
        if part := re.match(r"bytes=(\d+)-(\d*)", self.headers.get("Range", "")):
            begin, end = int(part[1]), min(int(part[2] or len(content)), len(content) - 1)
            return self.answer(206, content[begin:end + 1], Content_Range=f"bytes {begin}-{end}/{len(content)}", **usual)
        self.answer(200, content, **usual)

    def bucket(self, root, query, data):
        if self.command == "POST":
            for key in re.findall(rb"<Key>(.*?)</Key>", data):
                if os.path.isfile(path := os.path.join(root, key.decode())):
                    os.remove(path)
            return self.answer(200, b"<DeleteResult/>")
        prefix, delimiter, keys, folders = query.get("prefix", ""), query.get("delimiter", ""), [], set()
        for path in (os.path.join(directory, file) for directory, _, files in os.walk(root) for file in files):
            key = os.path.relpath(path, root)
            if key.startswith(prefix) and delimiter and delimiter in key[len(prefix):]:
                folders.add(prefix + key[len(prefix):].split(delimiter)[0] + delimiter)
            elif key.startswith(prefix):
                keys.append(f"<Contents><Key>{escape(key)}</Key><LastModified>{stamp(path, '%Y-%m-%dT%H:%M:%S.000Z')}</LastModified><ETag>1</ETag><Size>{os.path.getsize(path)}</Size></Contents>")
        folders = "".join(f"<CommonPrefixes><Prefix>{escape(folder)}</Prefix></CommonPrefixes>" for folder in sorted(folders))
        self.answer(200, f"<ListBucketResult><IsTruncated>false</IsTruncated>{''.join(sorted(keys))}{folders}</ListBucketResult>".encode(), Content_Type="application/xml")

    do_GET = do_PUT = do_HEAD = do_DELETE = do_POST = serve

ThreadingHTTPServer((ADDRESS, 9000), Handler).serve_forever()
