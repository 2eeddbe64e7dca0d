import { isIP } from 'node:net'
import { Type } from 'typebox'
import { errorMessage } from '../../base/text/error-message.ts'
import { parseCidr } from '../../base/values/cidr.ts'
import { defineModule } from '../schema/module.ts'
import { defineEndpointOption, dropEmptyLists, optionalTexts } from '../schema/option.ts'
import { described, InvalidValue, references, required } from '../schema/value.ts'

/** Admits only addresses its IP policies allow. */
export const IpRestriction = defineModule(
  'ip_restriction',
  'Allows only addresses that one of the IP policies allows.',
  {
    ip_policies: described(
      required(references(['ipp'], 'ip_policy_ids', { minItems: 1, maxItems: 100 })),
      'The IP policies, of which at least one must allow the address.',
    ),
  },
  {
    endpoint: defineEndpointOption({
      name: 'ipRestriction',
      field: 'IPRestriction',
      key: 'ip_restriction',
      kinds: ['http', 'tcp', 'tls'],
      wire: Type.Object({ allow_cidrs: optionalTexts, deny_cidrs: optionalTexts }),
      flags: [
        {
          name: 'cidr-allow',
          field: 'allow_cidrs',
          commaSeparated: true,
          help: 'allow visitors from this range only',
        },
        {
          name: 'cidr-deny',
          field: 'deny_cidrs',
          commaSeparated: true,
          help: 'deny visitors from this range',
        },
      ],
      check({ allow_cidrs = [], deny_cidrs = [] }) {
        const invalid = [...allow_cidrs, ...deny_cidrs].find((cidr) => !isCidr(cidr))
        return invalid === undefined
          ? undefined
          : `"${invalid.slice(0, 60)}" in "ip_restriction" is not a CIDR such as 10.0.0.0/8`
      },
      encode: dropEmptyLists,
      decode({ allow_cidrs: allow = [], deny_cidrs: deny = [] }): {
        allow: readonly string[]
        deny: readonly string[]
      } {
        try {
          for (const cidr of [...allow, ...deny]) parseCidr(cidr)
        } catch (error) {
          throw new InvalidValue(undefined, `IPRestriction: ${errorMessage(error)}`)
        }
        return { allow, deny }
      },
      // The option names ranges itself, so it refers to no policies.
      settings: () => ({ ip_policy_ids: [] }),
    }),
  },
)

function isCidr(text: string): boolean {
  const [address, bits, ...rest] = text.split('/')
  const family = isIP(address ?? '')
  return (
    family !== 0 &&
    rest.length === 0 &&
    /^\d{1,3}$/.test(bits ?? '') &&
    Number(bits) <= (family === 4 ? 32 : 128)
  )
}
