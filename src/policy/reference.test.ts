import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compile } from '../cel/index.ts'
import { environments } from './variables/index.ts'

const names = (prefix: string, list: string) => list.split(' ').map((name) => `${prefix}.${name}`)

const LOCATION = 'city continent country country_code metro_code subdivision timezone is_eu'
const NAME =
  'common_name country locality organization organizational_unit postal_code province street_address'

const addressFields = (address: string) => [
  address,
  ...names(address, 'categories is_on_blocklist is_tor_node as.number as.organization'),
  ...names(`${address}.geo.location`, `${LOCATION} latitude longitude postal_code radius`),
  ...names(`${address}.geo.registered_location`, LOCATION),
]

const certificateFields = (certificate: string) => [
  ...names(certificate, 'serial_number signature_algorithm subject issuer san'),
  ...names(`${certificate}.subject`, NAME),
  ...names(`${certificate}.issuer`, NAME),
  ...names(`${certificate}.san`, 'dns_names email_addresses ip_addresses uris'),
  ...names(`${certificate}.extensions[0]`, 'id critical value'),
  ...names(`${certificate}.validity`, 'not_before not_after'),
]

/** Every variable that the language of the original documents. */
const VARIABLES = [
  ...addressFields('conn.client_ip'),
  ...addressFields('conn.server_ip'),
  ...names('conn', 'client_port server_port server_region bytes_in bytes_out ts.start'),
  ...names('conn.geo', 'city country country_code latitude longitude radius subdivision'),
  ...names('conn.tls', 'cipher_suite ja4_fingerprint negotiated_alpn sni version session_resumed'),
  ...certificateFields('conn.tls.client'),
  'conn.tls.client.pem',
  ...certificateFields('conn.tls.server'),
  ...names('conn.k8s.pod', 'id metadata.name metadata.namespace metadata.annotations'),
  ...names('conn.k8s.pod.metadata', 'error_code error_message'),
  ...names('req', 'method host version location headers trailers content_length content_encoding'),
  ...names('req', 'content_type content_type.raw content_type.parameters cookies url user_agent'),
  ...names('req.ts', 'header_received body_received'),
  ...names('req.url', 'authority host path query raw raw_path scheme uri user_password port query_params'),
  ...names('req.user_agent', 'name version os os_version device url is_mobile is_tablet is_desktop is_bot'),
  ...names("req.cookies['a'][0]", 'name value'),
  ...names('res', 'status_code headers trailers content_length content_encoding location cookies'),
  ...names('res', 'content_type content_type.raw content_type.parameters'),
  ...names("res.cookies['a'][0]", 'name value domain path same_site secure http_only expires max_age'),
  "res.cookies['a'][0].unparsed_attributes",
  ...names('endpoint', 'addr host id protocol url port'),
  'time.now',
  'vars.anything',
]

/** A call of every function, in each of its forms. */
const CALLS = [
  ...["'a'.charAt(0)", "'a'.indexOf('a')", "'a'.indexOf('a', 0)", "'a'.lastIndexOf('a')"],
  ...["'a'.lastIndexOf('a', 0)", "'a b'.split()", "'a'.split('b')", "'a'.split('b', 1)"],
  ...["'a'.replace('a', 'b')", "'a'.replace('a', 'b', 1)", "'a'.substring(0)", "'a'.substring(0, 1)"],
  ...["'a'.trim()", "'a'.reverse()", "'a'.lowerAscii()", "'a'.upperAscii()", "'%s'.format(['a'])"],
  ...["['a'].join()", "['a'].join(',')", "strings.quote('a')", "'a'.lower()", "'a'.upper()"],
  ...["'a'.encodeBase64()", "'YQ=='.decodeBase64()", "'1'.decodeJson()", "'a=1'.decodeQueryString()"],
  ...["'a'.escapeUrl()", "'a'.unescapeUrl()", "'https://a/'.parseUrl()", "'1'.isJson()"],
  ...["'a=1'.isQueryString()", "'https://a/'.isURL()", "'10.0.0.1'.isPrivateIp()", '[1, 2].slice(0, 1)'],
  ...['[[1]].flatten()', '[[1]].flatten(1)', '[2, 1].sort()', '[2, 1].sortBy(x, -x)', '[1, 1].distinct()'],
  ...['lists.range(3)', '[1].encodeJson()', "{'a': 1}.encodeJson()", "{'a': ['1']}.encodeQueryString()"],
  ...[
    "json.decode('1')",
    'json.encode([1])',
    "queryString.decode('a=1')",
    "queryString.encode({'a': ['1']})",
  ],
  ...["url.parse('https://a/')", "url.escape('a')", "url.unescape('a')", "base64.decode('YQ==')"],
  ...["base64.encode(b'a')", "basic_auth.encode('a', 'b')", 'rand.double()', 'rand.int()', 'rand.int(0, 11)'],
  ...['crc32', 'crc64', 'md5', 'sha1', 'sha256', 'sha512', 'xxhash64'].flatMap((name) => [
    ...[`hash.${name}('a')`, `hash.${name}('a', 'base64')`, `'a'.${name}()`, `'a'.${name}('hex')`],
  ]),
  ...["getReqHeader('a')", "hasReqHeader('a')", "getReqCookie('a')", "hasReqCookie('a')"],
  ...["getQueryParam('a')", "hasQueryParam('a')", "getResHeader('a')", "hasResHeader('a')"],
  ...["getResCookie('a')", "hasResCookie('a')", "inCidrRange('10.0.0.1', '10.0.0.0/8')"],
  ...["inCidrRanges('10.0.0.1', ['10.0.0.0/8'])", 'has(vars.a)', '[1].all(x, x > 0)', '[1].exists(x, x > 0)'],
  ...['[1].exists_one(x, x > 0)', '[1].map(x, x)', '[1].map(x, x > 0, x)', '[1].filter(x, x > 0)'],
  ...["'a'.matches('a')", "matches('a', 'a')", "timestamp(time.now).getHours('Europe/Berlin')"],
]

/** What is declared without data behind it, so that policies which ask with `has()` can be used. */
const ABSENT = [
  ...['conn.geo', 'conn.k8s', 'conn.client_ip.geo', 'conn.client_ip.as'],
  ...['conn.client_ip.categories', 'conn.client_ip.is_tor_node', 'conn.client_ip.is_on_blocklist'],
  'conn.ts.end',
]

test('every variable and function of the language is declared', () => {
  const missing = [...VARIABLES, ...CALLS].filter(
    (source) => !compile(source, environments.on_http_response).ok,
  )

  assert.deepEqual(missing, [])
})

test('what is not known is absent', () => {
  const conn = {
    remoteAddress: '10.0.0.1',
    startedAt: 0,
    ipFacts: () => undefined,
    tls: { sni: 'app.test', clientCertificate: {} },
  }
  const present = ABSENT.filter((name) => {
    const compilation = compile(`has(${name})`, environments.on_http_response)
    return !compilation.ok || compilation.program.evaluate({ conn }) !== false
  })

  assert.deepEqual(present, [])
})
