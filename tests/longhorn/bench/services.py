"""Plays kube-proxy (iptables) and cluster DNS for every node of the bed."""

import os, socket, struct, subprocess, threading, time
from bed import MASTER, WORK, get, pid

names = {}

def rules():
    ready, out = {}, []
    for piece in get("endpointslices -A")["items"]:
        service = (piece["metadata"]["namespace"], piece["metadata"].get("labels", {}).get("kubernetes.io/service-name"))
        for port in piece.get("ports") or []:
            for end in piece.get("endpoints") or []:
                if (end.get("conditions") or {}).get("ready", True) is not False:
                    ready.setdefault((*service, port.get("name") or ""), set()).update((address, port["port"]) for address in end["addresses"])
    for service in get("services -A")["items"]:
        key, spec = (service["metadata"]["namespace"], service["metadata"]["name"]), service["spec"]
        headless = spec.get("clusterIP") in (None, "", "None")
        names["%s.%s.svc.cluster.local" % key[::-1]] = [spec["clusterIP"]] if not headless else sorted({a for k, ends in ready.items() if k[:2] == key for a, _ in ends})
        for port in [] if headless or key[1] == "kubernetes" else spec.get("ports") or []:
            ends = sorted(ready.get((*key, port.get("name") or ""), ()))
            match = f"-A LHE -d {spec['clusterIP']}/32 -p {port.get('protocol', 'TCP').lower()} --dport {port['port']}"
            for at, (address, number) in enumerate(ends):
                share = "" if at == len(ends) - 1 else f" -m statistic --mode random --probability {1 / (len(ends) - at):.5f}"
                out.append(f"{match}{share} -j DNAT --to-destination {address}:{number}")
    return out

def proxy():
    last = {}
    while True:
        try:
            now = rules()
            for n in ("", *(d[5:] for d in os.listdir(WORK) if os.path.exists(f"{WORK}/{d}/pid"))):
                enter = ["nsenter", "-t", pid(n), "-n"] if n else []
                if last.get(n) != now:
                    subprocess.run([*enter, "iptables-restore", "--noflush"], input="*nat\n:LHE - [0:0]\n-F LHE\n" + "\n".join(now) + "\nCOMMIT\n", text=True)
                    for rule in ["PREROUTING -j LHE", "OUTPUT -j LHE", "POSTROUTING -m conntrack --ctstate DNAT -j MASQUERADE"] if n not in last else []:
                        subprocess.run([*enter, "iptables", "-t", "nat", "-A", *rule.split()])
                    last[n] = now
        except Exception as problem:
            print(time.strftime("%T"), problem, flush=True)
        time.sleep(1)

def dns():
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind((MASTER, 53))
    while True:
        try:
            query, sender = server.recvfrom(2048)
            labels, at = [], 12
            while query[at]:
                labels.append(query[at + 1:at + 1 + query[at]].decode())
                at += 1 + query[at]
            name = ".".join(labels).lower()
            found = names.get(name, []) if struct.unpack("!H", query[at + 1:at + 3])[0] == 1 else []
            answers = b"".join(b"\xc0\x0c" + struct.pack("!HHIH", 1, 1, 5, 4) + socket.inet_aton(address) for address in found)
            server.sendto(query[:2] + struct.pack("!HHHHH", 0x8580 if name in names else 0x8583, 1, len(found), 0, 0) + query[12:at + 5] + answers, sender)
        except Exception as problem:
            print("dns", problem, flush=True)

threading.Thread(target=dns, daemon=True).start()
proxy()
