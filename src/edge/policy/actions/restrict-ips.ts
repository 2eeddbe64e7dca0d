import { parseAddress, parseCidr } from '../../../base/values/cidr.ts'
import { type AddressFilter, compileRules, type IpRule } from '../../../base/values/ip-rules.ts'
import { EvaluationError } from '../../../cel/index.ts'
import type { Activation, Template } from '../../../policy/index.ts'
import { type EdgeError, edgeError } from '../../errors.ts'
import type { PolicyContext } from '../context.ts'
import { ENDED, type Implementation } from '../implement.ts'
import { replaceResponse } from '../replace-response.ts'
import { errorResult } from './results.ts'

type Config = Parameters<Implementation<'restrict-ips'>['on_http_request']>[0]

/** Decides about the address of a visitor; the error when it is rejected. */
type Check = (activation: Activation) => EdgeError | undefined

function compile({ enforce, allow, deny, ip_policies }: Config, context: PolicyContext): Check {
  const byPolicy = ip_policies.length === 0 ? undefined : context.compileIpPolicies(ip_policies)
  const isStatic = [...allow, ...deny].every(({ literal }) => literal !== undefined)
  const listed = allow.length + deny.length > 0
  const fixed = isStatic && listed ? compileLists(allow, deny, ({ literal = '' }) => literal) : undefined

  return (activation) => {
    const { remoteAddress } = activation.conn
    if (listed && fixed === undefined) chargeRanges(activation, allow.length + deny.length)
    let matched: { readonly range: string | undefined } | undefined
    const byList =
      fixed ??
      (listed
        ? compileLists(allow, deny, (template) => template.literal ?? template.evaluate(activation))
        : undefined)
    const admitted = byList?.(remoteAddress) !== false && byPolicy?.(remoteAddress) !== false
    const error = admitted ? undefined : edgeError('address_denied', remoteAddress)
    activation.results.restrict_ips = {
      action: admitted ? 'allow' : 'deny',
      // Only policies that read it pay for the search.
      get matched_cidr() {
        matched ??= { range: findRange(admitted ? allow : deny, activation, remoteAddress) }
        return matched.range
      },
      ...errorResult(error),
    }
    return enforce ? error : undefined
  }
}

/** Reading a range takes about this many steps. */
const RANGE_COST = 20

const chargeRanges = ({ budget }: Activation, count: number) => budget.charge(RANGE_COST * count)

function compileLists(
  allow: readonly Template[],
  deny: readonly Template[],
  cidrOf: (template: Template) => string,
): AddressFilter {
  const rule = (action: IpRule['action']) => (template: Template) => ({ cidr: cidrOf(template), action })
  try {
    return compileRules([
      // Without an allow list, every address that is not denied is allowed.
      ...(allow.length > 0 ? allow.map(rule('allow')) : EVERY_ADDRESS),
      ...deny.map(rule('deny')),
    ])
  } catch (error) {
    throw new EvaluationError((error as Error).message)
  }
}

const EVERY_ADDRESS: readonly IpRule[] = [
  { cidr: '0.0.0.0/0', action: 'allow' },
  { cidr: '::/0', action: 'allow' },
]

function findRange(
  templates: readonly Template[],
  activation: Activation,
  address: string,
): string | undefined {
  const parsed = parseAddress(address)
  if (parsed === undefined) return undefined
  chargeRanges(activation, templates.length)
  return templates
    .map((template) => template.evaluate(activation))
    .find((text) => {
      const { family, base, bits } = parseCidr(text)
      const hostBits = BigInt((family === 4 ? 32 : 128) - bits)
      return family === parsed.family && parsed.value >> hostBits === base >> hostBits
    })
}

export const restrictIps: Implementation<'restrict-ips'> = {
  on_tcp_connect(config, context) {
    const check = compile(config, context)
    return (execution) => {
      const error = check(execution)
      if (error !== undefined) throw error
      return undefined
    }
  },
  on_http_request(config, context) {
    const check = compile(config, context)
    return (execution) => {
      const error = check(execution)
      execution.exchange.annotate('ip_policy.decision', error === undefined ? 'allow' : 'block')
      if (error !== undefined) throw error
      return undefined
    }
  },
  on_http_response(config, context) {
    const check = compile(config, context)
    return (execution) => {
      const error = check(execution)
      if (error === undefined) return undefined
      replaceResponse(execution, execution.exchange.renderError(error))
      return ENDED
    }
  },
}
