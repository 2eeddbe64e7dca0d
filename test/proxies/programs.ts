import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { startServiceProgram } from '../support/service-program.ts'
import { createTempDir } from '../support/temp-dir.ts'

const DOCUMENT = readFileSync(join(import.meta.dirname, '../../docs/behind-a-proxy.md'), 'utf8')

/** The address that the examples listen on, and its stand-in here: one of this process, since others use the same ports. */
const DOCUMENTED_ADDRESS = '203.0.113.5'
export const PUBLIC_ADDRESS = `127.${1 + ((process.pid >> 8) & 0x7f)}.${process.pid & 0xff}.2`

/** The example of this name in the document, with other texts in place of ports, names and files. */
export function readExample(name: string, replacements: Readonly<Record<string, string>>): string {
  const block = new RegExp(`^\`\`\`[a-z]+\n# ${name}\\b[^\n]*\n([^]*?)^\`\`\`$`, 'm').exec(DOCUMENT)?.[1]
  if (block === undefined) throw new Error(`docs/behind-a-proxy.md has no example ${name}`)
  let text = block
  for (const [documented, replacement] of Object.entries(replacements)) {
    if (!text.includes(documented)) throw new Error(`the example ${name} does not mention ${documented}`)
    text = text.replaceAll(new RegExp(`${RegExp.escape(documented)}(?![0-9])`, 'g'), replacement)
  }
  return text.replaceAll(DOCUMENTED_ADDRESS, PUBLIC_ADDRESS)
}

/** Starts nginx with these blocks inside and beside `http { … }`, until the port accepts connections. */
export async function startNginx(
  t: TestContext,
  { http = '', main = '', port }: { http?: string; main?: string; port: number },
): Promise<void> {
  const dir = createTempDir()
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${join(dir, name)};`,
  )
  const config = [
    process.getuid?.() === 0 ? 'user root;' : '',
    'daemon off; worker_processes 1; error_log stderr warn;',
    `pid ${join(dir, 'nginx.pid')};`,
    main === '' ? '' : 'load_module /usr/lib/nginx/modules/ngx_stream_module.so;',
    'events { worker_connections 256; }',
    main,
    `http { access_log off; ${paths.join(' ')}\n${http}\n}`,
  ].join('\n')
  writeFileSync(join(dir, 'nginx.conf'), config)
  const command = ['nginx', '-p', dir, '-e', 'stderr', '-c', join(dir, 'nginx.conf')] as const
  await startServiceProgram(t, command, { port, host: PUBLIC_ADDRESS })
}

/** Starts HAProxy with this configuration, until the port accepts connections. */
export async function startHaproxy(t: TestContext, config: string, port: number): Promise<void> {
  const file = join(createTempDir(), 'haproxy.cfg')
  writeFileSync(file, `global\n  maxconn 256\n${config}`)
  await startServiceProgram(t, ['haproxy', '-db', '-f', file], { port, host: PUBLIC_ADDRESS })
}
