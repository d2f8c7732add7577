// Writes the npm packages: node npm/pack.mjs VERSION BINARIES OUT. BINARIES has a folder for each
// platform, named as Go names it (linux_amd64), with the programs. OUT gets a tarball for each of
// these platforms and one for the package that people install.
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const [version, binaries, out] = process.argv.slice(2);
const source = import.meta.dirname;
const manifest = JSON.parse(readFileSync(join(source, "package.json")));
const platforms = ["linux", "darwin", "windows"].flatMap((os) => ["amd64", "arm64"].map((arch) => ({ os, arch })));
const nodeNames = { windows: "win32", amd64: "x64" };
const nameFor = ({ os, arch }) => `${nodeNames[os] ?? os}-${nodeNames[arch] ?? arch}`;

const work = mkdtempSync(join(tmpdir(), "pack-"));
mkdirSync(out, { recursive: true });
for (const platform of platforms) {
  const from = join(binaries, `${platform.os}_${platform.arch}`);
  if (!existsSync(from)) continue;
  const name = `${manifest.name}-${nameFor(platform)}`;
  const [os, cpu] = nameFor(platform).split("-");
  const { license, repository } = manifest;
  pack(
    {
      name,
      version,
      description: `The programs of ${manifest.name} for ${os} on ${cpu}.`,
      license,
      repository,
      os: [os],
      cpu: [cpu],
      preferUnplugged: true,
    },
    (folder) => {
      mkdirSync(join(folder, "bin"));
      for (const program of ["conform", "recorder"]) {
        const file = platform.os === "windows" ? `${program}.exe` : program;
        copyFileSync(join(from, file), join(folder, "bin", file));
        chmodSync(join(folder, "bin", file), 0o755);
      }
    },
  );
}
const optionalDependencies = Object.fromEntries(
  platforms.map((platform) => [`${manifest.name}-${nameFor(platform)}`, version]),
);
pack({ ...manifest, version, optionalDependencies }, (folder) => {
  for (const part of ["bin", "lib", "README.md"]) cpSync(join(source, part), join(folder, part), { recursive: true });
});
rmSync(work, { recursive: true });

function pack(manifest, fill) {
  const folder = mkdtempSync(join(work, "package-"));
  writeFileSync(join(folder, "package.json"), JSON.stringify(manifest, null, 2) + "\n");
  copyFileSync(join(source, "..", "LICENSE"), join(folder, "LICENSE"));
  fill(folder);
  execFileSync("npm", ["pack", "--silent", "--pack-destination", resolve(out)], {
    cwd: folder,
    stdio: ["ignore", "ignore", "inherit"],
  });
}
