import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Candidate } from '../candidates.ts'
import { chooseForwards, describePortTunnel, type Setting } from '../forwards.ts'
import { findFreePort, startProgram } from '../processes.ts'

const HTTP_HOST = 'frp.bench'

/** frp with a public port for each service; streams share one TLS connection, as they do by default. */
export async function startFrpTcp(setting: Setting): Promise<Candidate> {
  const forwards = await chooseForwards(setting.upstream)
  const proxies = forwards.map(
    ({ service, local, remote }) =>
      `[[proxies]]\nname = "${service}"\ntype = "tcp"\nlocalIP = "127.0.0.1"\nlocalPort = ${local}\nremotePort = ${remote}\n`,
  )
  const parts = await startFrp(setting, 'frp-tcp', '', proxies.join(''), forwards.at(-1)!.remote)
  return describePortTunnel('frp tcp', forwards, parts)
}

/** frp's own HTTP reverse proxy. */
export async function startFrpHttp(setting: Setting): Promise<Candidate | undefined> {
  if (setting.upstream.http === undefined) return undefined
  const port = await findFreePort()
  const proxy = `[[proxies]]\nname = "web"\ntype = "http"\nlocalIP = "127.0.0.1"\nlocalPort = ${setting.upstream.http}\ncustomDomains = ["${HTTP_HOST}"]\n`
  const parts = await startFrp(setting, 'frp-http', `vhostHTTPPort = ${port}\n`, proxy)
  return { name: 'frp http', http: { port, host: HTTP_HOST }, parts }
}

async function startFrp(
  { dir, link }: Setting,
  name: string,
  serverSettings: string,
  proxies: string,
  publicPort?: number,
): Promise<{ edge: number; agent: number }> {
  const port = await findFreePort()
  const [server, client] = ['server', 'client'].map((end) => join(dir, `${name}-${end}.toml`)) as [
    string,
    string,
  ]
  writeFileSync(
    server,
    `bindAddr = "${link.listenHost}"\nbindPort = ${port}\nproxyBindAddr = "127.0.0.1"\ntransport.tls.force = true\n${serverSettings}`,
  )
  writeFileSync(
    client,
    `serverAddr = "${link.dialHost}"\nserverPort = ${port}\ntransport.tls.enable = true\n${proxies}`,
  )
  const edge = await startProgram('frps', ['-c', server], { listens: port, host: link.listenHost })
  await link.expose(port)
  const ready = publicPort === undefined ? { prints: /start proxy success/ } : { listens: publicPort }
  return { edge, agent: await link.startRemote('frpc', ['-c', client], ready) }
}
