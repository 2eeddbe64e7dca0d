/** Parses the parts of an ARN that requests need; its form was validated when it was written. */
export function parseArn(arn: string): { region: string; resource: string } {
  const [, , , region = '', , ...rest] = arn.split(':')
  return { region, resource: rest.join(':') }
}
