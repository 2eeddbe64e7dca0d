import { generateKeyPairSync } from 'node:crypto'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { signRelease } from '../../scripts/release/signature.ts'
import { createTempDir } from './temp-dir.ts'

/** The platform of this machine, as releases name it. */
export const RELEASE_PLATFORM = `${process.platform}-${process.arch}`

/** What the executable of a test's release is: a shell script. */
export const RELEASE_PROGRAM = '#!/bin/sh\necho "adit version 1.2.3"\n'

/** A signed release of version 1.2.3 in a directory, with the key and another signature of the same files. */
export async function createTestRelease(program = RELEASE_PROGRAM) {
  const release = createTempDir()
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const key = join(createTempDir(), 'release.pub')
  writeFileSync(key, publicKey.export({ type: 'spki', format: 'pem' }))
  writeFileSync(join(release, 'adit-server-1.2.3.tgz'), 'the npm package')
  writeFileSync(join(release, 'adit-agent-1.2.3.tgz'), 'the npm package of the agent')
  writeFileSync(join(release, 'adit_1.2.3_amd64.deb'), 'the Debian package')
  writeFileSync(join(release, `adit-1.2.3-${RELEASE_PLATFORM}.gz`), gzipSync(program))
  writeFileSync(join(release, 'adit-1.2.3-win32-x64.exe.gz'), gzipSync('another platform'))
  await signRelease(release, '1.2.3', privateKey)
  return {
    release,
    key,
    publicKey,
    /** The same release without a signature. */
    async unsign() {
      for (const file of ['manifest.json.sig', 'SHA256SUMS.sig']) rmSync(join(release, file))
      await signRelease(release, '1.2.3', undefined)
    },
  }
}
