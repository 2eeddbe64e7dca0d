import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { findFreePorts } from '../../support/free-ports.ts'
import { missingPrograms } from '../../support/required-programs.ts'
import { startServiceProgram } from '../../support/service-program.ts'
import { createTempDir } from '../../support/temp-dir.ts'
import { installGo } from '../installs.ts'

/** Dex 2.45.1: the Go proxy knows releases of Dex by their commits only, since its module path names no major version. */
const VERSION = 'v0.0.0-20260303133905-11d2eeb52b42'

/** Why Dex cannot run here; false when it can. */
export const reasonWithoutDex: string | false = missingPrograms('go')

/** The password of everyone whom `createPassword` makes known. */
export const DEX_PASSWORD = 'password'
const PASSWORD_HASH = '$2a$10$2b2cU8CPhOTaGrs1HRQuAueS7JTT5ZHsHSzYiFPm1leZck7Mc8T4W'

/** A part of Dex's configuration. */
export type DexConfig = Readonly<Record<string, unknown>>

/** An entry of `staticPasswords`: a person who signs in with an address and `DEX_PASSWORD`. */
export function createPassword(email: string, more: DexConfig = {}): DexConfig {
  return { email, hash: PASSWORD_HASH, username: email.replace(/@.*/, ''), userID: `id of ${email}`, ...more }
}

/** A Dex server. */
export interface Dex {
  readonly issuer: string
  /** Starts it again at the same address, without its keys, sessions and tokens. */
  restart(changes?: DexConfig): Promise<void>
}

/** Starts Dex with its state in memory and with the configuration for this issuer, such as clients and passwords. */
export type StartDex = (t: TestContext, configure: (issuer: string) => DexConfig) => Promise<Dex>

/** Builds Dex. Skips the test and returns undefined if that fails. */
export async function installDex(t: TestContext): Promise<StartDex | undefined> {
  const program = await installGo(t, 'github.com/dexidp/dex', VERSION, 'cmd/dex')
  if (program === undefined) return undefined
  return async (test, configure) => {
    const port = await findFreePorts(1)
    const issuer = `http://127.0.0.1:${port}/dex`
    let config: DexConfig = {
      issuer,
      storage: { type: 'memory' },
      web: { http: `127.0.0.1:${port}` },
      enablePasswordDB: true,
      ...configure(issuer),
    }
    const file = join(createTempDir(), 'config.json')
    const start = () => {
      writeFileSync(file, JSON.stringify(config))
      return startServiceProgram(test, [program, 'serve', file], { port })
    }
    let server = await start()
    return {
      issuer,
      async restart(changes = {}) {
        await server.stop()
        config = { ...config, ...changes }
        server = await start()
      },
    }
  }
}
