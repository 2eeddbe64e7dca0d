import { common, defineResource } from './schema/define.ts'

/** A set of IP rules that modules and restrictions reference. */
export const IpPolicy = defineResource({
  name: 'IP policy',
  description: 'Named sets of address ranges to allow or deny.',
  path: '/ip_policies',
  prefix: 'ipp',
  listKey: 'ip_policies',
  event: 'ip_policy',
  fields: { ...common },
})
