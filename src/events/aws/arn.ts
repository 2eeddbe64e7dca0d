/** The parts of a resource name of the cloud that calls need; its form was checked when it was written. */
export function parseArn(arn: string): { region: string; resource: string } {
  const [, , , region = '', , ...rest] = arn.split(':')
  return { region, resource: rest.join(':') }
}
