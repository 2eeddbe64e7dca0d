import { CommandFailure } from '../base/process/command-line.ts'
import type { Logger } from '../base/process/log.ts'
import type { Clock } from '../base/values/clock.ts'
import { Secret } from '../base/values/secret.ts'
import { newSshSerial, parseSshPublicKey, signSshCertificate, startAutoRenew } from '../certs/index.ts'
import { createHostIdentity, generateHostKeys, type HostIdentity, publicHostKeys } from '../sessions/index.ts'
import type { Row, Store } from '../store/index.ts'

const HOST_KEYS_SETTING = 'ssh.host_keys'
const AUTHORITY_KIND = 'ssh_certificate_authorities'
const DAY_MS = 24 * 60 * 60 * 1000
const VALIDITY_MS = 30 * DAY_MS

/** Clocks of clients may be behind the server's. */
const BACKDATE_MS = 5 * 60 * 1000

export interface SshHostIdentityOptions {
  store: Store
  clock: Clock
  log: Logger
  /** The id of the SSH authority that certifies the host key, if any. */
  authorityId: string | undefined
  /** The names and addresses clients may dial. */
  hosts: readonly string[]
}

/**
 * The SSH gateway's host keys, sealed in the store so that all nodes share them. With an authority the Ed25519 key
 * also has a certificate, signed at the start and renewed every day.
 */
export async function openSshHostIdentity(
  options: SshHostIdentityOptions,
): Promise<{ identity: HostIdentity; stop(): void }> {
  const { store, authorityId, clock, log } = options
  const pem = new Secret(await loadHostKeys(store))
  if (authorityId === undefined) return { identity: createHostIdentity(pem), stop() {} }

  const certificate = await startAutoRenew({
    issue: (now) => signHostCertificate(options, pem, authorityId, now),
    renewAfterMs: DAY_MS,
    clock,
    log,
    name: 'SSH host certificate',
  })
  return { identity: createHostIdentity(pem, certificate.current), stop: certificate.stop }
}

async function loadHostKeys(store: Store): Promise<string> {
  const stored = await store.setting(HOST_KEYS_SETTING)
  if (stored !== undefined) return stored
  await store.putSetting(HOST_KEYS_SETTING, generateHostKeys(), { secret: true })
  // Read back: two nodes that start at the same moment must both use the stored keys.
  return (await store.setting(HOST_KEYS_SETTING))!
}

async function signHostCertificate(
  options: SshHostIdentityOptions,
  pem: Secret,
  authorityId: string,
  now: number,
): Promise<Buffer> {
  const authority = await findAuthority(options.store, authorityId)
  if (authority === undefined)
    throw new CommandFailure(
      `--ssh-host-ca: there is no SSH certificate authority with the id "${authorityId}".`,
    )
  const text = await signSshCertificate({
    kind: 'host',
    publicKey: parseSshPublicKey(publicHostKeys(pem)[0]!),
    authorityKey: new Secret(authority.secrets?.private_key ?? ''),
    serial: newSshSerial(),
    id: 'adit-ssh-gateway',
    principals: [...options.hosts],
    validAfter: now - BACKDATE_MS,
    validUntil: now + VALIDITY_MS,
  })
  return Buffer.from(text.split(' ')[1]!, 'base64')
}

async function findAuthority({ fallbackReader }: Store, id: string): Promise<Row | undefined> {
  for (let cursor: string | undefined; ; ) {
    const rows = await fallbackReader.scan(AUTHORITY_KIND, { limit: 100, after: cursor })
    const match = rows.find((row) => row.id === id)
    if (match !== undefined || rows.length < 100) return match
    cursor = rows.at(-1)!.id
  }
}
