import { isUtf8 } from 'node:buffer'
import { toWords } from './address-words.ts'
import { isMap, Mmdb, MmdbError, type MmdbValue } from './mmdb.ts'
import { compileRangeList, isRangeTable, RangeTable } from './range-list.ts'

/** What is known about an address. */
export interface IpFacts {
  readonly location: IpLocation | undefined
  readonly registeredLocation: IpLocation | undefined
  readonly as: { readonly number: number; readonly organization: string | undefined } | undefined
  /** Undefined when no list was imported. */
  readonly categories: readonly string[] | undefined
  readonly isTorNode: boolean | undefined
}

/** Texts by the names that `conn.client_ip.geo` declares; `is_eu` is true or false. */
export type IpLocation = Readonly<Record<string, string | boolean | undefined>>

/** The kinds of facts that files may have, for messages. */
export const FACT_KINDS = {
  location: 'places',
  as: 'networks',
  categories: 'categories',
  tor: 'Tor exit nodes',
} as const

export type FactKind = keyof typeof FACT_KINDS

/** Knows addresses. */
export interface IpData {
  lookUp(address: string): IpFacts | undefined
}

/** Records of a database that tell which facts it has. */
const SAMPLED_RECORDS = 64

/** The kinds of facts that imported files have. Throws `MmdbError` or `RangeListError`. */
export function factKindsOf(files: readonly Buffer[]): ReadonlySet<FactKind> {
  const kinds = new Set<FactKind>()
  for (const bytes of files) {
    if (isRangeTable(bytes)) {
      kinds.add('categories')
      continue
    }
    const database = new Mmdb(bytes)
    for (const offset of database.sample(SAMPLED_RECORDS)) {
      const { location, registeredLocation, as, isTorNode } = readRecord(database, offset)
      if (location !== undefined || registeredLocation !== undefined) kinds.add('location')
      if (as !== undefined) kinds.add('as')
      if (isTorNode !== undefined) kinds.add('tor')
    }
  }
  return kinds
}

/**
 * Checks a file that an operator imports: a database in MMDB format stays as it is, a list of ranges is compiled. Throws
 * `MmdbError` or `RangeListError`.
 */
export function compileIpFile(bytes: Buffer, category: string | undefined): Buffer {
  if (isUtf8(bytes)) return compileRangeList(bytes.toString(), category)
  if (category !== undefined) throw new MmdbError('only a list of ranges can be given a category')
  void new Mmdb(bytes)
  return bytes
}

/** Without data nothing is known. */
export const NO_IP_DATA: IpData = { lookUp: () => undefined }

/** Decoded records are kept, because addresses of one network share theirs. */
const MAX_CACHED_RECORDS = 50_000

type DatabaseFacts = Omit<IpFacts, 'categories'>

/** Opens imported files, databases in MMDB format and compiled lists, as one. Throws `MmdbError` or `RangeListError`. */
export function openIpData(files: readonly Buffer[]): IpData {
  const tables = files.filter(isRangeTable).map((bytes) => new RangeTable(bytes))
  const databases = files
    .filter((bytes) => !isRangeTable(bytes))
    .map((bytes) => ({ database: new Mmdb(bytes), records: new Map<number, DatabaseFacts>() }))
  const words = new Uint32Array(4)
  return {
    lookUp(address) {
      if (!toWords(address, words)) return undefined
      const categories = tables.length === 0 ? undefined : joinCategories(tables, words)
      let facts: DatabaseFacts | undefined
      for (const { database, records } of databases) {
        const record = recordOf(database, records, words)
        if (record !== undefined) facts = facts === undefined ? record : merge(facts, record)
      }
      if (facts === undefined && categories === undefined) return undefined
      const { location, registeredLocation, as, isTorNode } = facts ?? NOTHING
      return { location, registeredLocation, as, isTorNode, categories }
    },
  }
}

const NOTHING: DatabaseFacts = {
  location: undefined,
  registeredLocation: undefined,
  as: undefined,
  isTorNode: undefined,
}

function joinCategories(tables: readonly RangeTable[], words: Uint32Array): readonly string[] {
  if (tables.length === 1) return tables[0]!.categoriesOf(words)
  return [...new Set(tables.flatMap((table) => table.categoriesOf(words)))]
}

/** The first database that knows something wins. */
const merge = (first: DatabaseFacts, second: DatabaseFacts): DatabaseFacts => ({
  location: first.location ?? second.location,
  registeredLocation: first.registeredLocation ?? second.registeredLocation,
  as: first.as ?? second.as,
  isTorNode: first.isTorNode ?? second.isTorNode,
})

function recordOf(
  database: Mmdb,
  records: Map<number, DatabaseFacts>,
  words: Uint32Array,
): DatabaseFacts | undefined {
  const offset = database.find(words)
  if (offset === undefined) return undefined
  let record = records.get(offset)
  if (record === undefined) {
    record = readRecord(database, offset)
    if (records.size >= MAX_CACHED_RECORDS) records.clear()
    records.set(offset, record)
  }
  return record
}

/** A damaged record is as good as none: the request must not fail for it. */
function readRecord(database: Mmdb, offset: number): DatabaseFacts {
  try {
    return toRecord(database.read(offset))
  } catch (error) {
    if (error instanceof MmdbError) return NOTHING
    throw error
  }
}

function toRecord(record: MmdbValue): DatabaseFacts {
  const get = (...path: readonly string[]) =>
    path.reduce<MmdbValue | undefined>((value, key) => (isMap(value) ? value[key] : undefined), record)
  const text = (...path: readonly string[]) => {
    const value = get(...path)
    return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined
  }
  const flag = (...path: readonly string[]) => {
    const value = get(...path)
    return typeof value === 'boolean' ? value : undefined
  }
  const country = (key: string): IpLocation => ({
    continent: text('continent', 'names', 'en') ?? text('continent', 'code'),
    country: text(key, 'names', 'en'),
    country_code: text(key, 'iso_code'),
    is_eu: get(key) === undefined ? undefined : (flag(key, 'is_in_european_union') ?? false),
  })
  const subdivisions = get('subdivisions')
  const [subdivision] = Array.isArray(subdivisions) ? subdivisions : []
  const names = isMap(subdivision) ? subdivision.names : undefined
  const number = get('autonomous_system_number')
  return {
    location: present({
      ...country('country'),
      city: text('city', 'names', 'en'),
      subdivision: isMap(names) && typeof names.en === 'string' ? names.en : undefined,
      latitude: text('location', 'latitude'),
      longitude: text('location', 'longitude'),
      radius: text('location', 'accuracy_radius'),
      metro_code: text('location', 'metro_code'),
      timezone: text('location', 'time_zone'),
      postal_code: text('postal', 'code'),
    }),
    registeredLocation: isMap(get('registered_country')) ? present(country('registered_country')) : undefined,
    as:
      typeof number === 'number'
        ? { number, organization: text('autonomous_system_organization') }
        : undefined,
    isTorNode: flag('is_tor_exit_node') ?? flag('traits', 'is_tor_exit_node'),
  }
}

const present = (location: IpLocation): IpLocation | undefined =>
  Object.values(location).some((value) => value !== undefined) ? location : undefined
