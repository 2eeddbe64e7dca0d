import { join } from 'node:path'
import type { MountNamespace } from '../support/mount-namespace.ts'
import { type ProgramResult, run } from '../support/run.ts'

const PYTHON =
  'import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1], timeout=20).read().decode())'
const NODE = 'const response = await fetch(process.argv[1]); console.log(await response.text())'

/** Programs that open a URL and print what they got. */
export const OPENERS = {
  curl: (url) => ['curl', '-sS', '--max-time', '20', url],
  python: (url) => ['/usr/bin/python3', '-c', PYTHON, url],
  node: (url) => [process.execPath, '--input-type=module', '-e', NODE, url],
  chromium: (url, home) => [
    '/usr/bin/chromium',
    '--headless',
    '--no-sandbox',
    '--disable-gpu',
    '--disable-background-networking',
    '--disable-component-update',
    `--user-data-dir=${join(home, 'chromium')}`,
    '--dump-dom',
    url,
  ],
} satisfies Record<string, (url: string, home: string) => string[]>

export type Opener = keyof typeof OPENERS

/** Opens the URL on a system, as a user with this home directory. */
export function open(
  opener: Opener,
  url: string,
  { system, home }: { system: MountNamespace; home: string },
): Promise<ProgramResult> {
  // No proxy of this machine, and no variables of the test run.
  return run(system.wrap(OPENERS[opener](url, home)), { PATH: process.env.PATH ?? '', HOME: home })
}
