import { createHash } from 'node:crypto'
import { formatTimestamp } from '../../../base/values/clock.ts'
import { covers, isWithin, reverseLabels } from '../../../base/values/domain.ts'
import { hostOf } from '../../../base/values/hostport.ts'
import { AUTOMATIC_OFF, endManagement, IN_PROGRESS } from '../../../certs/index.ts'
import {
  claimNameOf,
  findFreeAddress,
  findOverlap,
  findReservation,
  isPlatformName,
  isPublicSuffix,
} from '../../../naming/index.ts'
import { ReservedAddr, ReservedDomain, type StoredRecord } from '../../../resources/index.ts'
import type { CommitContext, WriteContext } from '../../call.ts'
import { crud } from '../../crud/crud.ts'
import { fieldProblem, problem } from '../../problems.ts'

/** A stable DNS label hashed from ids, so that it reveals nothing and never changes. */
export function opaqueLabel(length: number, ...parts: string[]): string {
  const digest = createHash('sha256').update(parts.join('\0')).digest('hex')
  return BigInt(`0x${digest}`).toString(36).slice(0, length)
}

/** The status of a requested certificate that has not been issued yet. */
export function pendingCertificate(context: WriteContext) {
  return {
    renews_at: null,
    provisioning_job: {
      error_code: null,
      msg: context.config.acme ? IN_PROGRESS : AUTOMATIC_OFF,
      started_at: formatTimestamp(context.clock.now()),
      retries_at: null,
    },
  }
}

/** Rejects a name that overlaps with what another account owns or uses. */
export async function rejectOverlap(domain: string, { tx, principal, config }: CommitContext): Promise<void> {
  const overlap = await findOverlap(domain, tx, {
    accountId: principal.accountId,
    platformDomain: config.domain,
    spans: config.nameSpans,
  })
  if (overlap === 'reserved') throw problem('taken', `This domain is already reserved: ${domain}.`)
  if (overlap === 'in_use')
    throw problem(
      'taken',
      `The domain ${domain}, or a name above or below it, is in use by another account or was until a short time ago.`,
    )
}

/** Names below the platform's domain use the platform's certificate. */
function rejectCertificate({ domain, certificate_id }: StoredRecord<typeof ReservedDomain>): never {
  throw fieldProblem(
    certificate_id === null ? 'certificate_management_policy' : 'certificate_id',
    'invalid_field',
    `${domain} is below the platform's own domain, which has its own certificate.`,
  )
}

/** The top-level domain reserved for private networks. */
const PRIVATE_TLD = 'internal'

function rejectUnusable(domain: string, { config }: WriteContext): void {
  if (!domain.replace(/^\*\./, '').includes('.'))
    throw fieldProblem(
      'domain',
      'invalid_field',
      `domain: "${domain}" is not a full domain name, such as app.example.com.`,
    )
  // Such a name has no public DNS that could point here or prove ownership, unless the platform uses it itself.
  if (isWithin(domain, PRIVATE_TLD) && !isWithin(config.domain, PRIVATE_TLD))
    throw fieldProblem(
      'domain',
      'invalid_field',
      `domain: "${domain}" is not a public name: ${PRIVATE_TLD} is reserved for private networks.`,
    )
  if (domain === config.domain || domain === `*.${config.domain}`)
    throw fieldProblem('domain', 'invalid_field', `domain: ${domain} belongs to the platform itself.`)
  if (isPlatformName(domain, config.domain))
    throw problem('taken', `The domain ${domain} belongs to the platform itself. Choose another one.`)
  rejectPublicSuffix(domain, config.domain)
}

/** Decision 127: names below a public suffix belong to unrelated parties, so no account may own the suffix. */
export function rejectPublicSuffix(domain: string, platform: string): void {
  const plain = domain.replace(/^\*\./, '')
  if (isWithin(plain, platform) || !isPublicSuffix(plain)) return
  throw fieldProblem(
    'domain',
    'invalid_field',
    `domain: ${plain} is a public suffix, below which anyone can register names. Use a domain of your own, such as app.${plain}.`,
  )
}

export const reservedDomains = crud(ReservedDomain, {
  async prepare(record, context) {
    const { existing, config, principal, id, body } = context
    const next = { ...record }
    const { domain } = record
    const isPlatformSubdomain = isWithin(domain, config.domain)
    const isSet = (field: string) => body[field] !== undefined && body[field] !== null
    if (isSet('certificate_id') && isSet('certificate_management_policy'))
      throw fieldProblem('certificate_management_policy', 'both_certificates')
    if (existing === undefined) {
      rejectUnusable(domain, context)
      // Decision 11: a custom domain gets an automatic certificate by default.
      if (
        !isPlatformSubdomain &&
        record.certificate_id === null &&
        record.certificate_management_policy === null
      )
        next.certificate_management_policy = { authority: 'letsencrypt', private_key_type: 'rsa' }
      next.cname_target = isPlatformSubdomain
        ? null
        : `${opaqueLabel(16, id)}.${opaqueLabel(16, principal.accountId)}.cname.${config.domain}`
      next.acme_challenge_cname_target =
        !isPlatformSubdomain && domain.startsWith('*.')
          ? `${opaqueLabel(8, id, 'acme')}.acme-challenge.${config.domain}`
          : null
    } else if (isSet('certificate_id')) next.certificate_management_policy = null
    else if (isSet('certificate_management_policy') && existing.data.certificate_management_policy === null)
      next.certificate_id = null // The automatic certificate replaces the uploaded one.
    if (isPlatformSubdomain && (next.certificate_id !== null || next.certificate_management_policy !== null))
      rejectCertificate(next)

    if (next.certificate_management_policy === null) next.certificate_management_status = null
    else next.certificate_management_status ??= pendingCertificate(context)
    return { record: next }
  },

  async commit(record, context) {
    const { existing, tx } = context
    if (existing === undefined) await rejectOverlap(record.domain, context)
    // In this transaction: the reconciler deletes a managed certificate that the next call detaches, with its key.
    else if (
      existing.data.certificate_management_policy !== null &&
      record.certificate_management_policy === null
    )
      await endManagement(
        tx,
        { kind: 'domain', id: existing.id, account: existing.account },
        record.certificate_id,
      )
    await requireConfigurationType(
      context,
      'http_endpoint_configuration_id',
      record.http_endpoint_configuration_id,
      'http',
    )
    await requireConfigurationType(
      context,
      'https_endpoint_configuration_id',
      record.https_endpoint_configuration_id,
      'https',
    )
    return record
  },

  async beforeRemove(row, call) {
    const domain = row.data.domain
    const prefix = domain.startsWith('*.')
      ? `${reverseLabels(domain.slice(2))}.`
      : `${reverseLabels(domain)}:`
    for (const edge of await call.tx.holdersWithPrefix('hostport', prefix, 1000)) {
      const hostports = ((await call.tx.get(edge.kind, edge.account, edge.id))?.data.hostports ??
        []) as string[]
      for (const hostport of hostports)
        if (
          covers(domain, hostOf(hostport)) &&
          (await findReservation(hostOf(hostport), call.tx, call.principal.accountId, row.id)) === undefined
        )
          throw problem('in_use', 'reserved domain', row.id, `the edge ${edge.id}`)
    }
    // Decision 125: a custom domain has no cooldown: its owner moves it between accounts with its DNS.
    if (isWithin(domain, call.config.domain))
      await call.tx.releaseName(row.account, { name: reverseLabels(domain), listener: 'https', id: row.id })
  },
})

async function requireConfigurationType(
  context: CommitContext,
  field: string,
  id: string | null,
  type: string,
) {
  if (id === null) return
  const row = await context.tx.get('endpoint_configurations', context.principal.accountId, id)
  if (row !== undefined && row.data.type !== type)
    throw fieldProblem(field, 'invalid_field', `${field}: ${id} is of type ${row.data.type}, not ${type}.`)
}

const NEXT_PORT_SETTING = 'reserved_addrs.next'

export const reservedAddrs = crud(ReservedAddr, {
  async commit(record, context) {
    await requireConfigurationType(
      context,
      'endpoint_configuration_id',
      record.endpoint_configuration_id,
      'tcp',
    )
    if (context.existing !== undefined) return record
    return { ...record, addr: await nextFreeAddress(context) }
  },
  async afterCreate(row, { store, config, log }) {
    const port = Number(row.data.addr.split(':')[1])
    await store
      .putSetting(NEXT_PORT_SETTING, String(port + 1 - config.tcpPorts[0]))
      .catch((error) => log.warn({ err: error }, 'next TCP port not stored'))
  },
  async beforeRemove(row, { tx }) {
    const [host, port] = row.data.addr.split(':')
    const [holder] = await tx.holdersWithPrefix('hostport', `${reverseLabels(host!)}:${port}`, 1)
    if (holder !== undefined) throw problem('in_use', 'reserved address', row.id, `the edge ${holder.id}`)
    await tx.releaseName(row.account, {
      ...claimNameOf({ proto: 'tcp', port: Number(port) }),
      id: row.id,
    })
  },
})

/**
 * Assigns ports round-robin from where the last assignment stopped, so that a released address is the last one to be
 * reused.
 */
async function nextFreeAddress({ tx, store, config, principal }: CommitContext): Promise<string> {
  const addr = await findFreeAddress(tx, {
    accountId: principal.accountId,
    host: config.tcpHost,
    ports: config.tcpPorts,
    start: Number((await store.setting(NEXT_PORT_SETTING)) ?? 0),
    spans: config.nameSpans,
  })
  if (addr !== undefined) return addr
  const [first, last] = config.tcpPorts
  throw problem(
    'conflict',
    `All ${last - first + 1} public TCP ports of this server are taken. Delete a reserved address, or start the server with a larger --tcp-ports.`,
  )
}
