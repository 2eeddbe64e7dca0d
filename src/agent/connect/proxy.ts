import { isIP, type Socket } from 'node:net'
import { ByteQueue } from '../../base/io/streams/byte-queue.ts'
import { ConfigError } from '../config/error.ts'

/** A proxy on the way to the server. */
export interface ProxyServer {
  kind: 'http' | 'socks5'
  /** True when the connection to the proxy itself uses TLS. */
  tls: boolean
  host: string
  port: number
  username: string
  password: string
}

/** Reads `http://`, `https://` or `socks5://user:password@host:port`. */
export function parseProxy(text: string): ProxyServer {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const username = decodeComponent(url?.username ?? '')
  const password = decodeComponent(url?.password ?? '')
  const scheme = url?.protocol.replace(':', '')
  if (
    !url?.hostname ||
    username === undefined ||
    password === undefined ||
    (scheme !== 'http' && scheme !== 'https' && scheme !== 'socks5' && scheme !== 'socks5h')
  ) {
    throw new ConfigError([
      'proxy_url must be http://, https:// or socks5:// followed by [user:password@]host:port',
    ])
  }
  const defaultPort = scheme === 'http' ? 80 : scheme === 'https' ? 443 : 1080
  return {
    kind: scheme === 'http' || scheme === 'https' ? 'http' : 'socks5',
    tls: scheme === 'https',
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? defaultPort : Number(url.port),
    username,
    password,
  }
}

/** Undefined for a malformed percent-encoding. */
function decodeComponent(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

/** Asks the proxy to connect to the target; resolves when bytes reach it. Error messages call the proxy `it`. */
export async function openThroughProxy(
  socket: Socket,
  proxy: ProxyServer,
  host: string,
  port: number,
): Promise<void> {
  const reader = createReader(socket)
  try {
    if (proxy.kind === 'http') await connectHttp(socket, reader, proxy, host, port)
    else await connectSocks(socket, reader, proxy, host, port)
  } finally {
    reader.release()
  }
}

/** Reads exact amounts from a socket and unshifts the excess. */
interface SocketReader {
  readBytes(count: number): Promise<Buffer>
  readUntil(delimiter: string, limit: number): Promise<Buffer>
  release(): void
}

function createReader(socket: Socket): SocketReader {
  const buffered = new ByteQueue()
  let wake = () => {}
  let failure: Error | undefined
  const onData = (chunk: Buffer) => {
    buffered.push(chunk)
    wake()
  }
  const onEnd = () => {
    failure ??= new Error('it closed the connection')
    wake()
  }
  const onError = (error: Error) => {
    failure ??= error
    wake()
  }
  socket.on('data', onData).on('end', onEnd).on('close', onEnd).on('error', onError)

  async function readWhen(length: () => number): Promise<Buffer> {
    for (;;) {
      const count = length()
      if (count >= 0 && buffered.length >= count) {
        const bytes = Buffer.from(buffered.bytes.subarray(0, count))
        buffered.drop(count)
        return bytes
      }
      if (failure) throw failure
      await new Promise<void>((resolve) => {
        wake = resolve
      })
    }
  }

  return {
    readBytes: (count) => readWhen(() => count),
    readUntil: (delimiter, limit) =>
      readWhen(() => {
        const index = buffered.bytes.indexOf(delimiter)
        if (index < 0 && buffered.length > limit) throw new Error('its response header is too long')
        return index < 0 ? -1 : index + delimiter.length
      }),
    release() {
      socket.off('data', onData).off('end', onEnd).off('close', onEnd).off('error', onError)
      socket.pause()
      if (buffered.length > 0) socket.unshift(buffered.take())
    },
  }
}

async function connectHttp(
  socket: Socket,
  reader: SocketReader,
  proxy: ProxyServer,
  host: string,
  port: number,
): Promise<void> {
  const target = `${isIP(host) === 6 ? `[${host}]` : host}:${port}`
  const credentials = Buffer.from(`${proxy.username}:${proxy.password}`).toString('base64')
  const authorization = proxy.username === '' ? '' : `Proxy-Authorization: Basic ${credentials}\r\n`
  socket.write(`CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n${authorization}\r\n`)
  const head = (await reader.readUntil('\r\n\r\n', 16_384)).toString('latin1')
  const status = /^HTTP\/1\.[01] (\d{3})/.exec(head)?.[1]
  if (!status?.startsWith('2')) {
    throw new Error(`it refused to connect to ${target} (${head.split('\r\n', 1)[0] ?? 'no answer'})`)
  }
}

const SOCKS_FAILURES = [
  '',
  'general failure',
  'not allowed by its rules',
  'network unreachable',
  'host unreachable',
  'connection refused',
  'time to live expired',
  'command not supported',
  'address type not supported',
]

/** RFC 1928, with RFC 1929 for a user name; the proxy resolves the host name. */
async function connectSocks(
  socket: Socket,
  reader: SocketReader,
  proxy: ProxyServer,
  host: string,
  port: number,
): Promise<void> {
  const withPassword = proxy.username !== ''
  socket.write(withPassword ? Buffer.from([5, 2, 0, 2]) : Buffer.from([5, 1, 0]))
  const [version, method] = await reader.readBytes(2)
  if (version !== 5) throw new Error('it does not speak SOCKS 5')
  if (method === 2 && withPassword) {
    const [user, password] = [Buffer.from(proxy.username), Buffer.from(proxy.password)]
    socket.write(
      Buffer.concat([Buffer.from([1, user.length]), user, Buffer.from([password.length]), password]),
    )
    const [, status] = await reader.readBytes(2)
    if (status !== 0) throw new Error('it rejected the user name or password')
  } else if (method !== 0) throw new Error('it accepts none of the offered authentication methods')

  const name = Buffer.from(host)
  const target = Buffer.alloc(2)
  target.writeUInt16BE(port)
  socket.write(Buffer.concat([Buffer.from([5, 1, 0, 3, name.length]), name, target]))
  const [, failure = 1, , kind] = await reader.readBytes(4)
  if (failure !== 0)
    throw new Error(`it refused to connect to ${host}:${port} (${SOCKS_FAILURES[failure] ?? failure})`)
  const size = kind === 1 ? 4 : kind === 4 ? 16 : (await reader.readBytes(1))[0]!
  await reader.readBytes(size + 2)
}
