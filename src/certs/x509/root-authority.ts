import { join } from 'node:path'
import { writeFileAtomic } from '../../base/process/atomic-file.ts'
import type { Logger } from '../../base/process/log.ts'
import type { Clock } from '../../base/values/clock.ts'
import { Secret } from '../../base/values/secret.ts'
import type { Store } from '../../store/index.ts'
import { type Authority, createAuthority, loadAuthority, renewAuthority } from './authority.ts'

const CERTIFICATE_SETTING = 'root.certificate'
const KEY_SETTING = 'root.key'

export interface RootAuthorityOptions {
  readonly store: Pick<Store, 'setting' | 'putSetting'>
  readonly dataDir: string
  readonly clock: Clock
  readonly log: Logger
}

/**
 * The platform's private root. The store holds it, its key sealed, so that every node signs with the same one; the
 * certificate is also written to the data directory for programs that must trust it. A root created under a wrong clock
 * is reissued with the same key before it signs anything its dates would invalidate (P54).
 */
export async function openRootAuthority(
  options: RootAuthorityOptions,
): Promise<{ authority: Authority; file: string }> {
  const { store, dataDir, clock, log } = options
  const file = join(dataDir, 'ca.pem')
  let certificatePem = await store.setting(CERTIFICATE_SETTING)
  let key = await store.setting(KEY_SETTING)
  if (certificatePem === undefined || key === undefined) {
    const created = await createAuthority({ now: clock.now() })
    certificatePem = created.certificatePem
    key = created.privateKeyPem.reveal()
    await store.putSetting(KEY_SETTING, key, { secret: true })
    await store.putSetting(CERTIFICATE_SETTING, certificatePem)
  }
  const privateKeyPem = new Secret(key)
  let current = await loadAuthority({ certificatePem, privateKeyPem })
  let renewing: Promise<void> | undefined

  async function renew(now: number): Promise<void> {
    const renewed = await renewAuthority({ certificatePem: current.certificatePem, privateKeyPem }, { now })
    log.warn(
      { notBefore: current.notBefore, notAfter: current.notAfter },
      'private root not valid now: reissued with the same key',
    )
    current = await loadAuthority(renewed)
    await Promise.all([
      store.putSetting(CERTIFICATE_SETTING, current.certificatePem),
      writeFileAtomic(file, current.certificatePem, 0o644),
    ]).catch((err: unknown) => log.error({ err }, 'renewed private root not stored'))
  }

  async function ensureValid(now: number): Promise<void> {
    if (current.notBefore.getTime() <= now && now < current.notAfter.getTime()) return
    renewing ??= renew(now).finally(() => {
      renewing = undefined
    })
    await renewing
  }

  await ensureValid(clock.now())
  await writeFileAtomic(file, current.certificatePem, 0o644)
  return {
    file,
    authority: {
      get certificatePem() {
        return current.certificatePem
      },
      get notBefore() {
        return current.notBefore
      },
      get notAfter() {
        return current.notAfter
      },
      async issueLeaf(request) {
        const now = request.now ?? clock.now()
        await ensureValid(now)
        return current.issueLeaf({ ...request, now })
      },
    },
  }
}
