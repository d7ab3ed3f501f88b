/* SPDX-License-Identifier: MIT
 *
 * options.c - the command line of sherwood-cli.
 */
#include <ctype.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "client/cli/cli.h"
#include "proto/decimal.h"
#include "proto/whole_option.h"

#define DEFAULT_HOST "127.0.0.1"
#define DEFAULT_PORT "7379"
#define PORT_MAX 65535

enum long_option {
    OPTION_HELP = 256,
    OPTION_VERSION,
    OPTION_FORMAT,
    OPTION_TABLE,
    OPTION_INTO,
    OPTION_SWAP,
    OPTION_RAW,
    OPTION_NO_RAW,
    OPTION_TLS,
    OPTION_CACERT,
    OPTION_CERT,
    OPTION_KEY,
    OPTION_SNI,
    OPTION_INSECURE,
    OPTION_STAT,
    OPTION_LATENCY,
    OPTION_USER,
    OPTION_PASS,
    OPTION_PASS_FILE,
    OPTION_ASKPASS
};

static const char help_text[] =
    "sherwood-cli - talk to a Sherwood server from the command line\n"
    "\n"
    "  sherwood-cli [options]                  open a prompt; HELP there lists the commands\n"
    "  sherwood-cli [options] COMMAND ...      run one command\n"
    "  sherwood-cli [options] < commands.txt   run commands, one a line\n"
    "  sherwood-cli [options] load FILE        store the pairs of a file\n"
    "  sherwood-cli [options] dump FILE        write every pair to a file\n"
    "  sherwood-cli [options] snapshot info|verify|load FILE, export FILE FOLDER|OUT.csv|-\n"
    "                                          read a snapshot that a server has written\n"
    "  sherwood-cli [options] stat|latency [LINES]  print rates, or round trips, each second\n"
    "  sherwood-cli [options] latency --history SECONDS [LINES]  print a line every SECONDS "
    "seconds\n"
    "  sherwood-cli [options] summary          scan; show the distribution of keys and values\n"
    "  sherwood-cli [options] digest [ADDRESS..]  compare servers, or the nodes of each shard\n"
    "  sherwood-cli [options] top [--once]     show rates and load on the screen; q leaves\n"
    "  sherwood-cli cluster create --nodes HOST:PORT,.. | --local-gpus N --output FILE\n"
    "                                          write a topology that shares the slots evenly\n"
    "  sherwood-cli [options] cluster set [--if-absent] FILE\n"
    "                                          give the node the topology in FILE\n"
    "  sherwood-cli [options] cluster slots|check|move SLOTS FROM TO|rebalance [--dry-run]\n"
    "  sherwood-cli [options] ha status|switch|forget HOST:PORT|adopt [WRITE]  manage a shard\n"
    "  sherwood-cli [options] table list|info NAME|create NAME [OPTION VALUE ..]|drop NAME\n"
    "  sherwood-cli [options] table alter NAME OPTION VALUE ..|rename NAME NEW|save NAME|truncate "
    "NAME\n"
    "  sherwood-cli [options] table swap NAME OTHER [FORCE]\n"
    "                                          list and change the tables of a server\n"
    "  sherwood-cli log check|export DIR       read the log in a data directory\n"
    "  sherwood-cli log check --fix [--yes] DIR  list the lost writes; --yes: cut what is damaged\n"
    "\n"
    "Options\n"
    "  -h HOST, -p PORT    the address of the server (default " DEFAULT_HOST ", " DEFAULT_PORT ")\n"
    "  -s PATH             the Unix socket of the server instead\n"
    "  -a ADDRESS          the address as one text: host:port, [v6]:port, unix:/path or "
    "tls://host:port\n"
    "  -a ADDRESS,ADDRESS..  the members of a shard: commands go to its primary, also after a\n"
    "                      fail-over; with -c nodes of a cluster; one must reply\n"
    "  -c, --cluster       the address is a node of a cluster: commands go to the owners of keys\n"
    "  --tls               use TLS; PORT is the server's tls-port\n"
    "  --cacert PATH       root certificates, a file or a folder (default: the system's)\n"
    "  --cert, --key FILE  our certificate and its key, for servers that require one\n"
    "  --sni NAME          the name that the server's certificate must have (default: HOST)\n"
    "  --insecure          accept any certificate of the server\n"
    "  --user NAME         log in as this user (default: default, if there is a password)\n"
    "  --pass-file FILE    read the password from the first line of FILE\n"
    "  --askpass           read the password from the terminal\n"
    "  --pass PASSWORD     the password; other users of this machine may see it for a moment.\n"
    "                      Without these three, SHERWOODCLI_AUTH of the environment has it\n"
    "  --into NAME         load: store the pairs in this table; make it like the other if needed\n"
    "  --swap              load: then swap it with the other table, for all clients at once\n"
    "  --table NAME        use this table of a server that has several, by its name or number\n"
    "  --format csv|bin    the format of FILE (default: that of its name, .csv or .bin)\n"
    "  --raw, --no-raw     plain replies; replies for people (default: plain unless on a "
    "terminal)\n"
    "  --stat, --latency   run stat or latency, as with redis-cli\n"
    "  -q                  load, dump and summary: no progress, no last line\n"
    "  --help, --version\n"
    "\n";

/* C99 compilers need accept only strings of up to 4095 bytes. */
static const char help_files[] =
    "Files\n"
    "  csv: one pair a line, key,value in decimal, quoted or not. The first line may be a header;\n"
    "  load reports that. Tabs, semicolons and comments are refused. Rows: key,number,number,.. "
    "or\n"
    "  key,hex.\n"
    "  bin: key, value, key, value, ... little-endian, in the server's widths (see INFO).\n"
    "  FILE may be - for stdin and stdout. load keeps the order of the file: the last value of a\n"
    "  repeated key stays. It stops at a bad line, which it names, or at a batch that the server\n"
    "  refuses. Then the table has a beginning of the file. dump removes nothing. While others "
    "change\n"
    "  the table, dump may write a pair twice, or miss a pair that others add or remove.\n"
    "\n"
    "Snapshots\n"
    "  info: show the header of the file. verify: read and check every block. export: write every "
    "pair\n"
    "  as CSV, or the columns as FOLDER/keys.u64, values.u64 (u32, or bytes) for numpy.fromfile. "
    "None\n"
    "  of these needs a server. load: store every pair in a server of any capacity, engine or "
    "seed.\n"
    "\n"
    "Examples\n"
    "  sherwood-cli set 42 7\n"
    "  sherwood-cli get 42\n"
    "  sherwood-cli mget 1 2 3\n"
    "  sherwood-cli load pairs.csv\n"
    "  sherwood-cli dump - | sort -n > all.csv\n"
    "\n"
    "Exit status: 0; 1 if the server, a command or a file failed; 2 if the command line is "
    "wrong.\n";

void sw_cli_help(FILE *out)
{
    fputs(help_text, out);
    fputs(help_files, out);
}

/* Returns whether a line of the help text is about this tool. "snapshot info|verify" is about
 * snapshot, "stat|latency [LINES]" about both. */
static bool is_about(const char *line, size_t size, const char *tool)
{
    const char *word = line + strspn(line, " ");
    const size_t length = strlen(tool);
    word += strcspn(word, " "); /* skips the word sherwood-cli */
    word += strspn(word, " ");
    word += strncmp(word, "[options] ", 10) == 0 ? 10 : 0;
    for (const char *end = line + size; word < end && *word != ' '; word += *word == '|') {
        const size_t part = strcspn(word, "| \n");
        if (part == length && islower(*word) && strncasecmp(word, tool, part) == 0) {
            return true;
        }
        word += part;
    }
    return false;
}

bool sw_cli_help_tool(FILE *out, const char *tool)
{
    bool follows = false, found = false;
    for (const char *line = help_text; strncmp(line, "Options\n", 8) != 0;) {
        const size_t size = strcspn(line, "\n") + 1;
        const bool begins = strncmp(line, "  sherwood-cli ", 15) == 0;
        follows = begins ? is_about(line, size, tool) : follows && strncmp(line, "      ", 6) == 0;
        if (follows) {
            fwrite(line, 1, size, out);
            found = true;
        }
        line += size;
    }
    if (found) {
        fprintf(out, "sherwood-cli --help lists the options; sherwood-cli(1) has more.\n");
    }
    return found;
}

enum sw_cli_format sw_cli_format_named(const char *name)
{
    if (strcmp(name, "csv") == 0) {
        return SW_CLI_FORMAT_CSV;
    }
    bool is_binary = strcmp(name, "bin") == 0 || strcmp(name, "binary") == 0;
    return is_binary ? SW_CLI_FORMAT_BINARY : SW_CLI_FORMAT_UNKNOWN;
}

enum sw_cli_format sw_cli_format_of_path(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot == NULL ? SW_CLI_FORMAT_UNKNOWN : sw_cli_format_named(dot + 1);
}

void sw_cli_format_unknown(struct sw_cli *cli, const char *name)
{
    static const char *const of_python[] = {".parquet", ".npz", ".npy"};
    const char *dot = strrchr(name, '.');
    for (size_t i = 0; dot != NULL && i < sizeof(of_python) / sizeof(of_python[0]); i++) {
        if (strcasecmp(dot, of_python[i]) == 0) {
            fprintf(cli->messages,
                    "sherwood-cli: %s: only the Python client reads and writes %s files: "
                    "sherwood.connect(..).load(path) and .dump(path)\n",
                    name, of_python[i]);
            return;
        }
    }
    fprintf(cli->messages,
            "sherwood-cli: %s: the name shows no format: name it .csv or .bin, or add --format csv "
            "or --format bin\n",
            name);
}

struct server {
    const char *host, *port, *socket, *address;
    bool tls;
};

/* Makes the address from -h, -p, -s and -a. Returns false with a sentence in `text`. */
static bool set_address(struct sw_cli_options *options, const struct server *server, char *text,
                        size_t text_bytes)
{
    bool by_host = server->host != NULL || server->port != NULL;
    if ((server->address != NULL) + (server->socket != NULL) + by_host > 1) {
        snprintf(text, text_bytes, "use only one address: -a, or -s, or -h and -p");
        return false;
    }
    const char *host = server->host != NULL ? server->host : DEFAULT_HOST;
    const char *port = server->port != NULL ? server->port : DEFAULT_PORT;
    uint64_t number = 0;
    if (!sw_decimal_parse((const uint8_t *)port, strlen(port), PORT_MAX, &number) || number == 0) {
        snprintf(text, text_bytes, "a port is a number from 1 to %d, not \"%.40s\"", PORT_MAX,
                 port);
        return false;
    }
    if (server->tls && (server->socket != NULL || server->address != NULL)) {
        snprintf(text, text_bytes, "--tls needs -h and -p: with -a write tls://host:port instead");
        return false;
    }
    const char *tls = server->tls ? "tls://" : "";
    bool v6 = strchr(host, ':') != NULL && host[0] != '[';
    int size;
    if (server->address != NULL) {
        size = snprintf(options->address, sizeof(options->address), "%s", server->address);
    } else if (server->socket != NULL) {
        size = snprintf(options->address, sizeof(options->address), "unix:%s", server->socket);
    } else {
        size = snprintf(options->address, sizeof(options->address), v6 ? "%s[%s]:%s" : "%s%s:%s",
                        tls, host, port);
    }
    if (size < 0 || (size_t)size >= sizeof(options->address)) {
        snprintf(text, text_bytes, "the address is longer than %zu bytes",
                 sizeof(options->address) - 1);
        return false;
    }
    return true;
}

static bool take_login_option(int option, char *argument, struct sw_cli_login *login)
{
    switch (option) {
    case OPTION_USER:
        login->user = argument;
        return true;
    case OPTION_PASS:
        return sw_cli_login_pass(login, argument);
    case OPTION_PASS_FILE:
        login->file = argument;
        return true;
    default:
        login->asks = true;
        return true;
    }
}

/* Takes an option about the table or a file. Returns false if it is another one, or is wrong. */
static bool take_data_option(int option, const char *argument, struct sw_cli_options *options)
{
    switch (option) {
    case OPTION_INTO:
        options->into = argument;
        return argument[0] != '\0';
    case OPTION_SWAP:
        options->swaps = true;
        return true;
    case OPTION_TABLE:
        options->table = argument;
        return argument[0] != '\0';
    case OPTION_FORMAT:
        options->format = sw_cli_format_named(argument);
        return options->format != SW_CLI_FORMAT_UNKNOWN;
    default:
        return false;
    }
}

/* Returns false if the option is unknown or its argument is missing or wrong. */
static bool take_option(int option, char *argument, struct sw_cli_options *options,
                        struct server *server)
{
    struct sherwood_options *connection = &options->connection;
    if (option >= OPTION_USER && option <= OPTION_ASKPASS) {
        return take_login_option(option, argument, &options->login);
    }
    switch (option) {
    case OPTION_TLS:
        server->tls = true;
        return true;
    case OPTION_CACERT:
        connection->tls_ca = argument;
        return true;
    case OPTION_CERT:
        connection->tls_cert = argument;
        return true;
    case OPTION_KEY:
        connection->tls_key = argument;
        return true;
    case OPTION_SNI:
        connection->tls_server_name = argument;
        return true;
    case OPTION_INSECURE:
        connection->tls_insecure = 1;
        return true;
    case 'h':
        server->host = argument;
        return true;
    case 'p':
        server->port = argument;
        return true;
    case 's':
        server->socket = argument;
        return true;
    case 'a':
        server->address = argument;
        return true;
    case 'c':
        options->cluster = true;
        return true;
    case 'q':
        options->quiet = true;
        return true;
    case OPTION_STAT:
    case OPTION_LATENCY:
        options->watch = option == OPTION_STAT ? "stat" : "latency";
        return true;
    case OPTION_HELP:
        options->help = true;
        return true;
    case OPTION_VERSION:
        options->version = true;
        return true;
    case OPTION_RAW:
    case OPTION_NO_RAW:
        options->raw = option == OPTION_RAW;
        return true;
    default:
        return take_data_option(option, argument, options);
    }
}

/* Returns why getopt or take_option refused an option. */
static const char *why_refused(int option)
{
    switch (option) {
    case '?':
        return "there is no such option, or it takes no argument";
    case ':':
        return "it needs an argument";
    case OPTION_FORMAT:
        return "its argument is csv or bin";
    default:
        return "its argument is empty or wrong";
    }
}

/* Reads options from argv[1] on. `order` is "+" to stop at the first other word. Returns the index
 * of the first word that is no option, or -1 and why in `wrong`. */
static int read_options(int argc, char **argv, const char *order, struct sw_cli_options *options,
                        struct server *server, const char **wrong)
{
    static const struct option longs[] = {
        {"host", required_argument, NULL, 'h'},
        {"port", required_argument, NULL, 'p'},
        {"socket", required_argument, NULL, 's'},
        {"address", required_argument, NULL, 'a'},
        {"cluster", no_argument, NULL, 'c'},
        {"quiet", no_argument, NULL, 'q'},
        {"format", required_argument, NULL, OPTION_FORMAT},
        {"table", required_argument, NULL, OPTION_TABLE},
        {"into", required_argument, NULL, OPTION_INTO},
        {"swap", no_argument, NULL, OPTION_SWAP},
        {"raw", no_argument, NULL, OPTION_RAW},
        {"no-raw", no_argument, NULL, OPTION_NO_RAW},
        {"tls", no_argument, NULL, OPTION_TLS},
        {"cacert", required_argument, NULL, OPTION_CACERT},
        {"cert", required_argument, NULL, OPTION_CERT},
        {"key", required_argument, NULL, OPTION_KEY},
        {"sni", required_argument, NULL, OPTION_SNI},
        {"insecure", no_argument, NULL, OPTION_INSECURE},
        {"user", required_argument, NULL, OPTION_USER},
        {"pass", required_argument, NULL, OPTION_PASS},
        {"pass-file", required_argument, NULL, OPTION_PASS_FILE},
        {"stat", no_argument, NULL, OPTION_STAT},
        {"latency", no_argument, NULL, OPTION_LATENCY},
        {"askpass", no_argument, NULL, OPTION_ASKPASS},
        {"help", no_argument, NULL, OPTION_HELP},
        {"version", no_argument, NULL, OPTION_VERSION},
        {NULL, 0, NULL, 0},
    };
    char letters[32];
    snprintf(letters, sizeof(letters), "%s:h:p:s:a:qc", order);
    opterr = 0;
    optind = 0; /* starts getopt anew, whatever it has read before */
    for (;;) {
        int index = -1;
        int option = getopt_long(argc, argv, letters, longs, &index);
        if (option == -1) {
            return optind;
        }
        const bool is_whole =
            sw_option_is_whole(argv, optind, index < 0 ? NULL : longs[index].name);
        if (!is_whole || !take_option(option, optarg, options, server)) {
            *wrong = is_whole ? why_refused(option) : "write the whole name of the option";
            return -1;
        }
    }
}

bool sw_cli_options_read(int argc, char **argv, struct sw_cli_options *options, char *text,
                         size_t text_bytes)
{
    struct server server = {0};
    const char *reason = "";
    *options = (struct sw_cli_options){
        .program = argc > 0 ? argv[0] : "", .raw = -1, .connection = SHERWOOD_OPTIONS_INIT};
    int words = read_options(argc, argv, "+", options, &server, &reason), behind = 0;
    if (words > 0 && words < argc &&
        (strcasecmp(argv[words], "load") == 0 || strcasecmp(argv[words], "dump") == 0)) {
        /* Options may follow load and dump. getopt moves them before the file; the command then
         * comes after them, just before the file. */
        char *command = argv[words];
        behind = words;
        int file = read_options(argc - words, argv + words, "", options, &server, &reason);
        words = file < 0 ? -1 : words + file - 1;
        if (words > 0) {
            argv[words] = command;
        }
    }
    if (words < 0) {
        int size = 0;
        const char *wrong = sw_option_wrong(argv + behind, argc - behind, optind, &size);
        snprintf(text, text_bytes, "\"%.*s\" is not understood: %s", size, wrong, reason);
        return false;
    }
    options->names_server = server.host != NULL || server.port != NULL || server.socket != NULL ||
                            server.address != NULL;
    options->cluster |= words < argc && strcasecmp(argv[words], "cluster") == 0;
    options->words = words;
    return set_address(options, &server, text, text_bytes);
}
