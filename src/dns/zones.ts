import { isIPv4 } from 'node:net'
import { parentOf, type StartOfAuthority, type ZoneData, type ZoneRecord } from './zone.ts'

/** A snapshot of everything the platform's zones depend on. */
export interface ZoneSnapshot {
  /** The platform's own domain. */
  readonly base: string
  /** Public addresses of this region's nodes. */
  readonly addresses: readonly string[]
  /** All regions with the addresses of their nodes, this one included. */
  readonly regions: readonly { readonly region: string; readonly addresses: readonly string[] }[]
  readonly ingresses: readonly {
    readonly domain: string
    readonly account: string
    readonly managed: boolean
  }[]
  /** TXT records of pending ACME validations. */
  readonly challenges: readonly { readonly name: string; readonly value: string }[]
  /** The CAA identities of the authorities that may sign the platform's names; none if not restricted. */
  readonly caa: readonly string[]
  /** Grows with every change. */
  readonly serial: number
}

/** The announced name servers: agent ingresses are delegated to all four, whatever runs behind them. */
const NAME_SERVERS = [1, 2, 3, 4]
const TTL = 300
// A query before a record exists must not be cached for long.
const NEGATIVE_TTL = 30
const CHALLENGE_TTL = 5

/** The name servers of the platform's zones. */
export function nameServerNames(base: string): string[] {
  return NAME_SERVERS.map((number) => `ns${number}.${base}`)
}

/** Builds every zone of the platform. A pure function of the snapshot. */
export function buildZones(snapshot: ZoneSnapshot): ZoneData[] {
  const { base, addresses, caa } = snapshot
  const defaults = { soa: buildSoa(snapshot), ns: nameServerNames(base), ttl: TTL }
  const cname = `cname.${base}`
  const acme = `acme-challenge.${base}`
  const ingresses = withoutForeignSubzones(snapshot.ingresses)
  const origins = [cname, acme, base, ...ingresses.map(({ domain }) => domain)]
  const byOrigin = groupByOrigin(snapshot.challenges, origins)
  const challengeRecords = (origin: string): ZoneRecord[] =>
    (byOrigin.get(origin) ?? []).map(({ name, value }) => ({
      name,
      type: 'TXT',
      data: value,
      ttl: CHALLENGE_TTL,
    }))

  return [
    {
      ...defaults,
      origin: base,
      records: [
        ...addressRecords(base, addresses),
        ...addressRecords(`*.${base}`, addresses),
        ...nameServerAddresses(base, addresses),
        ...caaRecords(base, caa),
        ...challengeRecords(base),
        ...gapRecords(base, byOrigin.get(base) ?? [], addresses),
        ...delegationRecords(cname, base),
        ...delegationRecords(acme, base),
      ],
    },
    {
      ...defaults,
      origin: cname,
      // One wildcard for the CNAME targets of all reserved domains: the edge decides what to serve, and the zone does
      // not grow with their number.
      records: [...addressRecords(cname, addresses), ...addressRecords(`*.${cname}`, addresses)],
    },
    { ...defaults, origin: acme, records: challengeRecords(acme) },
    ...ingresses.map(({ domain, managed }) => ({
      ...defaults,
      origin: domain,
      records: [
        ...addressRecords(domain, addresses),
        ...snapshot.regions.flatMap((region) =>
          addressRecords(`tunnel.${region.region}.${domain}`, region.addresses),
        ),
        ...caaRecords(domain, managed ? caa : []),
        ...challengeRecords(domain),
      ],
    })),
  ]
}

function buildSoa({ base, serial }: ZoneSnapshot): StartOfAuthority {
  return {
    mname: `ns1.${base}`,
    rname: `hostmaster.${base}`,
    serial: serial % 2 ** 32,
    refresh: 7200,
    retry: 900,
    expire: 1_209_600,
    minimum: NEGATIVE_TTL,
  }
}

function addressRecords(name: string, addresses: readonly string[]): ZoneRecord[] {
  return addresses.map((data) => ({ name, type: isIPv4(data) ? 'A' : 'AAAA', data }))
}

/** Each name server has one address per family, assigned round-robin, so that the others survive the loss of one. */
function nameServerAddresses(base: string, addresses: readonly string[]): ZoneRecord[] {
  const families = [addresses.filter((a) => isIPv4(a)), addresses.filter((a) => !isIPv4(a))]
  return nameServerNames(base).flatMap((name, index) =>
    families.flatMap((family) => {
      const address = family[index % family.length]
      return address === undefined ? [] : addressRecords(name, [address])
    }),
  )
}

function caaRecords(name: string, caa: readonly string[]): ZoneRecord[] {
  return caa.map((value) => ({ name, type: 'CAA', data: { flags: 0, tag: 'issue', value } }))
}

/** NS records of the zones below the base, on the same servers; validating resolvers expect them. */
function delegationRecords(zone: string, base: string): ZoneRecord[] {
  return nameServerNames(base).map((data) => ({ name: zone, type: 'NS', data }))
}

/**
 * A challenge below a name makes that name exist, so the wildcard no longer covers it and what is below it (RFC 4592 sections
 * 2.2.2 and 3.3.1): these records give them the wildcard's addresses.
 */
function gapRecords(
  base: string,
  challenges: readonly { name: string }[],
  addresses: readonly string[],
): ZoneRecord[] {
  const gaps = new Set<string>()
  for (const { name } of challenges)
    for (let ancestor = parentOf(name); ancestor !== base; ancestor = parentOf(ancestor)) gaps.add(ancestor)
  return [...gaps].flatMap((name) => [
    ...addressRecords(name, addresses),
    ...addressRecords(`*.${name}`, addresses),
  ])
}

/** Drops zones inside a zone of another account: their owner could serve names that were not delegated to it. */
function withoutForeignSubzones<I extends { readonly domain: string; readonly account: string }>(
  ingresses: readonly I[],
): readonly I[] {
  const owners = new Map(ingresses.map(({ domain, account }) => [domain, account]))
  return ingresses.filter(({ domain, account }) => {
    for (let ancestor = parentOf(domain); ancestor !== ''; ancestor = parentOf(ancestor))
      if (owners.has(ancestor) && owners.get(ancestor) !== account) return false
    return true
  })
}

/** Groups challenges by their most specific zone; drops those outside every zone. */
function groupByOrigin(challenges: ZoneSnapshot['challenges'], origins: readonly string[]) {
  const originSet = new Set(origins)
  const groups = new Map<string, { name: string; value: string }[]>()
  for (const challenge of challenges) {
    let ancestor = challenge.name
    while (ancestor !== '' && !originSet.has(ancestor)) ancestor = parentOf(ancestor)
    if (ancestor === '') continue
    const group = groups.get(ancestor)
    if (group === undefined) groups.set(ancestor, [challenge])
    else group.push(challenge)
  }
  return groups
}
